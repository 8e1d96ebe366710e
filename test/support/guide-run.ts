import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { freePort } from '../../src/dev/postgres.ts';
import type { TestDatabase } from './database.ts';
import { type GuideStep, outputPattern, readGuide, waitPattern } from './guide.ts';
import { root } from './markdown.ts';
import { type TestProject, useProject } from './package.ts';
import { type Running, startProcess } from './process.ts';

export interface Guide {
  text: string;
  project: TestProject;
  /** Writes every file and runs every command, with free ports; nothing else of the guide is changed. */
  follow(): Promise<GuideStep[]>;
}

/** A guide in a project that has installed the package, with an empty database. */
export function useGuide(path: string, database: TestDatabase): Guide {
  const text = readFileSync(join(root, path), 'utf8');
  const project = useProject('packed');
  const env: NodeJS.ProcessEnv = {
    NO_COLOR: '1',
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
    SYNCLINE_METRICS_PORT: '0',
  };
  const running: Running[] = [];
  afterAll(() => {
    for (const { process: child } of running) child.kill('SIGKILL');
  });
  const shellEnv = () => ({ ...env, PATH: project.path() });
  /** The ID printed last; replaces `<id>` in the next commands. */
  let lastId = '';

  /** Applies `export` lines and skips `npm install`: the packed package is already installed. */
  function prepareCommands(commands: string): string {
    return commands
      .replaceAll('<id>', lastId)
      .split('\n')
      .filter((line) => {
        const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? [];
        if (name) env[name] = name === 'SYNCLINE_DATABASE_URL' ? database.url : expandValue(value);
        return !name && !line.startsWith('npm install ');
      })
      .join('\n');
  }

  /** Expands a value as a shell does; it may contain a command substitution. */
  const expandValue = (value = '') =>
    execFileSync('bash', ['-c', `printf %s "${value}"`], {
      cwd: project.folder,
      env: { ...process.env, ...shellEnv() },
      encoding: 'utf8',
    });

  async function followStep(step: GuideStep): Promise<void> {
    const cwd = project.folder;
    if (step.do === 'write') return writeFileSync(join(cwd, step.file), step.text);
    const { background, code, output, line } = step;
    const commands = prepareCommands(step.commands);
    if (background) {
      const started = startProcess('bash', ['-c', `exec env ${commands}`], {
        cwd,
        env: shellEnv(),
        outlivesTest: true,
      });
      running.push(started);
      await started.output(waitPattern(output ?? ''));
      return;
    }
    // Both streams in the order of writing, as on a terminal.
    const ended = await startProcess('bash', ['-euc', `exec 2>&1\n${commands}`], { cwd, env: shellEnv() })
      .finished;
    expect({ line, code: ended.code, stdout: ended.stdout }).toMatchObject({ code });
    lastId = /^id +(\S+)$/m.exec(ended.stdout)?.[1] ?? lastId;
    if (output !== undefined)
      expect(withoutColours(ended.stdout), `line ${line}`).toMatch(outputPattern(output));
  }

  return {
    text,
    project,
    follow: async () => {
      const [first, second, server] = [await freePort(), await freePort(), await freePort()];
      env['SYNCLINE_SERVER_PORT'] = String(server);
      const steps = readGuide(text.replaceAll('4001', String(first)).replaceAll('4002', String(second)));
      for (const step of steps) await followStep(step);
      return steps;
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI colours of the test runner
const withoutColours = (text: string) => text.replaceAll(/\u001b\[\d*m/g, '');
