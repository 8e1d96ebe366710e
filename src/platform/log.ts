// A default import: esbuild banners for `require` declare `createRequire`.
import nodeModule from 'node:module';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { PrettyOptions } from 'pino-pretty';
import { stripControl } from '../values/terminal-text.ts';

interface LogStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface LogOptions {
  level: string;
  /** Lines instead of JSON. */
  readable: boolean;
  /** `stderr` where stdout is a command's output. */
  to: 'stdout' | 'stderr' | LogStream;
}

const fileDescriptors = { stdout: 1, stderr: 2 };

export function createLogger({ level, readable, to }: LogOptions): Logger {
  const options = { level, base: { pid: process.pid } };
  return pino(options, (readable && readableLines(to)) || jsonLines(to));
}

function jsonLines(to: LogOptions['to']): DestinationStream {
  if (typeof to === 'string') return pino.destination({ fd: fileDescriptors[to], sync: true });
  return { write: (line) => void to.write(line) };
}

function readableLines(to: LogOptions['to']): DestinationStream | undefined {
  const pretty = loadPretty();
  if (!pretty) return undefined;
  const { isTTY } = typeof to === 'string' ? process[to] : to;
  const options: PrettyOptions = {
    colorize: isTTY === true && !process.env['NO_COLOR'],
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    hideObject: true,
    // Connector messages may contain terminal escapes.
    messageFormat: (line, key) => stripControl(String(line[key] ?? '')),
  };
  if (typeof to === 'string') return pretty({ ...options, destination: fileDescriptors[to], sync: true });
  const lineOf = pretty.prettyFactory(options);
  return { write: (line) => void to.write(lineOf(line)) };
}

/** Slow to load, and only for terminals. Undefined in a bundle without node_modules. */
function loadPretty(): typeof import('pino-pretty') | undefined {
  try {
    return nodeModule.createRequire(import.meta.url)('pino-pretty');
  } catch {
    return undefined;
  }
}

/** Error objects may contain rows or connection settings. */
export function briefError(error: unknown, redact = (text: string) => text): unknown {
  try {
    return brief(error, redact);
  } catch {
    // Its getters may throw.
    return 'an error that cannot be read';
  }
}

function brief(error: unknown, redact: (text: string) => string): unknown {
  if (!(error instanceof Error)) return redact(String(error));
  const { name, message, stack } = error;
  const code = (error as NodeJS.ErrnoException).code;
  return {
    type: name,
    message: redact(message),
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack: redact(stack) }),
  };
}
