import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import type { TestDatabase } from './database.ts';
import { type Finished, type Running, runCli, runCliProcess, startCli } from './process.ts';

export interface TestCli {
  run(...args: string[]): Promise<Finished>;
  runWith(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Finished>;
  /** In a process of its own, to prove that the built command runs and exits. */
  runProcess(...args: string[]): Promise<Finished>;
  start(args: string[], env?: NodeJS.ProcessEnv): Running;
  /** Expects success of a command with `--json`. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>;
}

/** The CLI in a temporary folder. */
export function useCli(database: TestDatabase, configFile?: string): TestCli {
  const cwd = mkdtempSync(join(tmpdir(), 'syncline-cli-'));
  if (configFile !== undefined) writeFileSync(join(cwd, 'syncline.config.mjs'), configFile);
  afterAll(() => rmSync(cwd, { recursive: true }));
  const options = (env: NodeJS.ProcessEnv = {}) => ({
    cwd,
    env: { SYNCLINE_DATABASE_URL: database.url, SYNCLINE_METRICS_PORT: '0', ...env },
  });
  return {
    run: (...args) => runCli(args, options()),
    runWith: (env, ...args) => runCli(args, options(env)),
    runProcess: (...args) => runCliProcess(args, options()),
    start: (args, env) => startCli(args, options(env)),
    json: async <T>(...args: string[]) => {
      const { code, stdout, stderr } = await runCli([...args, '--json'], options());
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as T;
    },
  };
}

/** Expects exit code 1, one error line and no other output. */
export function expectFailure({ code, stdout, stderr }: Finished, reason: RegExp): void {
  const reasons = stderr
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('error: '));
  expect({ code, reasons }).toEqual({ code: 1, reasons: [expect.stringMatching(reason)] });
  expect(stdout).toBe('');
}
