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
  /** What the end of stderr looks like when the credentials are refused. */
  unauthorized?: RegExp | undefined;
}

/** How a run of a tap ended: by itself, because the reader had enough, or badly. */
export type TapRunEnd = { how: 'finished' | 'stopped' } | { how: 'failed'; error: Error };

/**
 * Runs a tap and hands over its output line by line until `take` returns false or the tap ends. Whatever happens, nothing
 * of it runs any more afterwards. Throws only what the abort signal says.
 */
export async function runTap(options: TapRunOptions, take: (line: string) => boolean): Promise<TapRunEnd> {
  const { abortSignal, redact, log } = options;
  abortSignal.throwIfAborted();
  const tap = startTap(options);
  const said = followStderr(tap.stderr, log, redact);
  const stop = () => void tap.stop();
  abortSignal.addEventListener('abort', stop, { once: true });
  try {
    const splitter = createLineSplitter(options.maxLineBytes);
    const takeAll = (lines: string[]) => lines.every(take);
    if (await wasStopped(tap.stdout, (chunk) => takeAll(splitter.push(chunk)))) return { how: 'stopped' };
    const end = await tap.ended;
    abortSignal.throwIfAborted();
    if (end.code !== 0) {
      await tap.stop();
      return { how: 'failed', error: failureOf(end, said.tail(), options.unauthorized) };
    }
    const rest = splitter.rest();
    if (rest !== '') take(rest);
    return { how: 'finished' };
  } catch (error) {
    abortSignal.throwIfAborted();
    return { how: 'failed', error: unreadable(error, redact) };
  } finally {
    abortSignal.removeEventListener('abort', stop);
    await tap.stop();
  }
}

/** What is shown of a line that is no message may hold anything, a secret too. */
function unreadable(error: unknown, redact: (text: string) => string): Error {
  if (error instanceof LineTooLongError)
    return new PermanentError(`The tap's output is not Singer's: ${error.message}`);
  return error instanceof PermanentError ? new PermanentError(redact(error.message)) : (error as Error);
}

/** Reads until there is no more, or until the reader wants no more. The pipe is what makes a tap wait for us. */
async function wasStopped(stdout: AsyncIterable<Buffer>, read: (chunk: Buffer) => boolean): Promise<boolean> {
  const chunks = stdout[Symbol.asyncIterator]();
  for (;;) {
    // A stream that was closed under the reader is at its end: why it was closed is known elsewhere.
    const next = await chunks.next().catch(() => ({ done: true, value: undefined }));
    if (next.done || next.value === undefined) return false;
    if (!read(next.value)) return true;
  }
}

function failureOf({ code, signal }: TapEnd, tail: string, unauthorized: RegExp | undefined): Error {
  const how = code === null ? `was ended by ${signal}` : `ended with code ${code}`;
  const message = `The tap ${how}${tail ? `: ${tail}` : ', and said nothing.'}`;
  return unauthorized?.test(tail) ? new UnauthorizedError(message) : new TransientError(message);
}
