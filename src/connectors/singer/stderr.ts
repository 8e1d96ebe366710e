import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { createLineSplitter } from './lines.ts';

/** What of a run's stderr goes to the log; a tap that says more is still read, so that it does not stand still. */
const maxLines = 1000;
/** What an error repeats. */
const lastLines = 5;
const maxTail = 800;

export interface TapLog {
  /** The last lines, for an error. */
  tail(): string;
  ended: Promise<void>;
}

/** Reads a tap's stderr to its end and hands the lines to the log. */
export function followStderr(stream: Readable, log: Logger, redact: (text: string) => string): TapLog {
  const last: string[] = [];
  let lines = 0;

  function take(raw: string): void {
    if (raw.trim() === '') return;
    last.push(raw);
    if (last.length > lastLines) last.shift();
    lines++;
    if (lines <= maxLines) log[levelOf(raw)](redact(raw));
    else if (lines === maxLines + 1) log.warn(`The tap has written ${maxLines} lines; the rest is left out.`);
  }

  return {
    tail: () => last.map(redact).join(' | ').slice(-maxTail),
    ended: new Promise((resolve) => {
      const splitter = createLongLineSplitter();
      stream.on('data', (chunk: Buffer) => splitter(chunk).forEach(take));
      stream.once('error', () => {});
      stream.once('close', () => {
        splitter(Buffer.from('\n')).forEach(take);
        resolve();
      });
    }),
  };
}

/** A line without an end is cut where it gets too long: here nothing depends on it. */
function createLongLineSplitter(): (chunk: Buffer) => string[] {
  const maxBytes = 64 * 1024;
  let splitter = createLineSplitter(maxBytes);
  return (chunk) => {
    try {
      return splitter.push(chunk);
    } catch {
      splitter = createLineSplitter(maxBytes);
      return [chunk.subarray(0, maxBytes).toString()];
    }
  };
}

/** Python's loggers begin a line with its level, Meltano's write it in the middle or as a field. */
function levelOf(line: string): 'debug' | 'info' | 'warn' | 'error' {
  const level = /\b(CRITICAL|FATAL|ERROR|WARNING|WARN|DEBUG)\b/.exec(line.slice(0, 100))?.[1];
  if (level === undefined) return 'info';
  if (level.startsWith('WARN')) return 'warn';
  return level === 'DEBUG' ? 'debug' : 'error';
}
