import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { Terminal } from '../../src/cli/terminal.ts';

export interface TerminalOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  input?: string;
}

export interface TestTerminal extends Terminal {
  signals: EventEmitter;
  written(): { stdout: string; stderr: string };
}

/** A terminal in memory. */
export function createTerminal(
  args: readonly string[],
  { env = {}, cwd = process.cwd(), input = '' }: TerminalOptions = {},
): TestTerminal {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  return {
    args,
    env: { ...cleanEnvironment(), ...env },
    cwd,
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: { write: (text) => stdout.push(text) },
    stderr: { write: (text) => stderr.push(text) },
    signals: new EventEmitter(),
    exitCode: 0,
    written: () => ({ stdout: stdout.join(''), stderr: stderr.join('') }),
  };
}

/** The environment without variables that configure the engine. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SYNCLINE_|DATABASE_URL$|NODE_OPTIONS$)/.test(name)),
  );
}
