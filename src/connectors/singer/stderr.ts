import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { createLineSplitter } from './lines.ts';

/** Per run. The rest is read but dropped: the tap must not block. */
const maxLines = 1000;
const lastLines = 5;
const maxTail = 800;

export interface TapLog {
  tail(): string;
  ended: Promise<void>;
}

export function followStderr(stream: Readable, log: Logger, redact: (text: string) => string): TapLog {
  const last: string[] = [];
  let lines = 0;

  function take(raw: string): void {
    if (raw.trim() === '') return;
    last.push(raw);
    if (last.length > lastLines) last.shift();
    lines++;
    if (lines <= maxLines) log[levelOf(raw)](redact(raw));
    else if (lines === maxLines + 1)
      log.warn(`The tap wrote ${maxLines} lines to stderr; the rest is not logged.`);
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

/** Truncates instead of failing. */
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

/** Python loggers put the level first, Meltano later. */
function levelOf(line: string): 'debug' | 'info' | 'warn' | 'error' {
  const level = /\b(CRITICAL|FATAL|ERROR|WARNING|WARN|DEBUG)\b/.exec(line.slice(0, 100))?.[1];
  if (level === undefined) return 'info';
  if (level.startsWith('WARN')) return 'warn';
  return level === 'DEBUG' ? 'debug' : 'error';
}
