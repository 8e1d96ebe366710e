import type { Logger } from 'pino';
import { PermanentError, TransientError, UnauthorizedError } from '../../connector-kit/index.ts';
import { createLineSplitter, LineTooLongError } from './lines.ts';
import { followStderr } from './stderr.ts';
import { startTap, type TapEnd, type TapOptions } from './tap.ts';

export interface TapRunOptions extends TapOptions {
  abortSignal: AbortSignal;
  log: Logger;
  redact: (text: string) => string;
  maxLineBytes: number;
  unauthorized?: RegExp | undefined;
}

export type TapRunEnd = { outcome: 'finished' | 'stopped' } | { outcome: 'failed'; error: Error };

/** Always terminates the process group. Throws only the abort reason. */
export async function runTap(options: TapRunOptions, take: (line: string) => boolean): Promise<TapRunEnd> {
  const { abortSignal, redact, log } = options;
  abortSignal.throwIfAborted();
  const tap = startTap(options);
  const stderrLog = followStderr(tap.stderr, log, redact);
  const stop = () => void tap.stop();
  abortSignal.addEventListener('abort', stop, { once: true });
  try {
    const splitter = createLineSplitter(options.maxLineBytes);
    const takeAll = (lines: string[]) => lines.every(take);
    if (await readUntilStopped(tap.stdout, (chunk) => takeAll(splitter.push(chunk))))
      return { outcome: 'stopped' };
    const end = await tap.ended;
    abortSignal.throwIfAborted();
    if (end.code !== 0) {
      await tap.stop();
      // A last line without newline ends with the stream.
      await stderrLog.ended;
      return { outcome: 'failed', error: failureOf(end, stderrLog.tail(), options.unauthorized) };
    }
    const rest = splitter.rest();
    if (rest !== '') take(rest);
    return { outcome: 'finished' };
  } catch (error) {
    abortSignal.throwIfAborted();
    return { outcome: 'failed', error: unreadable(error, redact) };
  } finally {
    abortSignal.removeEventListener('abort', stop);
    await tap.stop();
  }
}

/** The quoted line may contain secrets. */
function unreadable(error: unknown, redact: (text: string) => string): Error {
  if (error instanceof LineTooLongError)
    return new PermanentError(`The tap's output is not valid Singer output: ${error.message}`);
  return error instanceof PermanentError ? new PermanentError(redact(error.message)) : (error as Error);
}

/** An unread pipe blocks the tap (backpressure). */
async function readUntilStopped(
  stdout: AsyncIterable<Buffer>,
  read: (chunk: Buffer) => boolean,
): Promise<boolean> {
  const chunks = stdout[Symbol.asyncIterator]();
  for (;;) {
    // A destroyed stream has ended; its cause is reported elsewhere.
    const next = await chunks.next().catch(() => ({ done: true, value: undefined }));
    if (next.done || next.value === undefined) return false;
    if (!read(next.value)) return true;
  }
}

function failureOf({ code, signal }: TapEnd, tail: string, unauthorized: RegExp | undefined): Error {
  const outcome = code === null ? `was killed by ${signal}` : `exited with code ${code}`;
  const message = `The tap ${outcome}${tail ? `: ${tail}` : ', with no output on stderr.'}`;
  return unauthorized?.test(tail) ? new UnauthorizedError(message) : new TransientError(message);
}
