import { AsyncLocalStorage } from 'node:async_hooks';
import { resolve } from 'node:path';
import type { ReadStream } from 'node:tty';

interface Output {
  /** False if its buffer is full. */
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Terminal {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Buffer> & { readonly isTTY?: boolean };
  /** Undefined if stdin is not a terminal. */
  readonly keyInput?: ReadStream | undefined;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Emits SIGINT, SIGTERM and SIGCONT. */
  readonly signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
  exitCode: number;
}

/** Reading `stdin` opens it, and `cwd` throws in a deleted folder. */
export const processTerminal: Terminal = {
  get args() {
    return process.argv.slice(2);
  },
  get env() {
    return process.env;
  },
  get cwd() {
    return process.cwd();
  },
  get stdin() {
    return process.stdin as Terminal['stdin'];
  },
  get keyInput() {
    return process.stdin.isTTY ? process.stdin : undefined;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  signals: process,
  get exitCode() {
    return Number(process.exitCode ?? 0);
  },
  set exitCode(code) {
    process.exitCode = code;
  },
};

const current = new AsyncLocalStorage<Terminal>();

/** Several commands can run in one process. */
export const terminal = (): Terminal => current.getStore() ?? processTerminal;

/** AsyncLocalStorage slows down every promise. */
export function withTerminal<T>(override: Terminal, work: () => Promise<T>): Promise<T> {
  return override === processTerminal ? work() : current.run(override, work);
}

/** Unchanged if possible: errors quote it. */
export function pathOf(file: string): string {
  const { cwd } = terminal();
  return cwd === process.cwd() ? file : resolve(cwd, file);
}

/** `createLogger` writes to descriptors. */
export function logTo(name: 'stdout' | 'stderr'): 'stdout' | 'stderr' | Output {
  const target = terminal();
  return target === processTerminal ? name : target[name];
}
