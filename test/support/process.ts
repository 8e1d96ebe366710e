import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runCli as runCommand } from '../../src/cli/run.ts';
import { cleanUpAfterEach } from './cleanup.ts';
import { cleanEnvironment, createTerminal, type TerminalOptions } from './terminal.ts';
import { until } from './until.ts';

export const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  process: ChildProcess;
  /** Resolves with the output when stdout or stderr matches. */
  output(pattern: RegExp): Promise<string>;
  /** Polls the condition; fails with the output if the process exits first. */
  until(what: string, condition: () => Promise<boolean>): Promise<void>;
  finished: Promise<Finished>;
}

const running = new Set<ChildProcess>();
cleanUpAfterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

export interface ProcessOptions extends TerminalOptions {
  /** The caller ends it; by default it is killed at the end of the test. */
  outlivesTest?: boolean;
  /** The test writes to stdin. */
  keepsInput?: boolean;
}

/** In this process, from src: the start of a process takes longer than most commands. */
export async function runCli(args: readonly string[], options: TerminalOptions = {}): Promise<Finished> {
  const terminal = createTerminal(args, options);
  const code = await runCommand(terminal, version);
  return { code, signal: null, ...terminal.written() };
}

/** In a process of its own, from dist. */
export function startCli(args: readonly string[], options: ProcessOptions = {}): Running {
  return startProcess(process.execPath, [cli, ...args], options);
}

export function runCliProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Finished> {
  return startCli(args, options).finished;
}

export function startProcess(
  command: string,
  args: string[],
  { env = {}, cwd, input, outlivesTest = false, keepsInput = false }: ProcessOptions = {},
): Running {
  const child = spawn(command, args, {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: [input === undefined && !keepsInput ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => {});
  if (!keepsInput) child.stdin?.end(input);
  if (!outlivesTest) running.add(child);
  let [stdout, stderr] = ['', ''];
  let hasEnded = false;
  const watchers = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const watcher of watchers) watcher();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const watcher of watchers) watcher();
  });
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      running.delete(child);
      hasEnded = true;
      resolve({ code, signal, stdout, stderr });
      for (const watcher of watchers) watcher();
    });
  });
  return {
    process: child,
    finished,
    output: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (pattern.test(stdout) || pattern.test(stderr)) resolve(stdout + stderr);
          else if (hasEnded) reject(new Error(`exited without ${pattern}: ${stdout}${stderr}`));
        };
        watchers.add(check);
        check();
      }),
    until: (what, condition) =>
      until(what, async () => {
        if (hasEnded) throw new Error(`exited before ${what}: ${stdout}${stderr}`);
        return condition();
      }),
  };
}
