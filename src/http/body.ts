import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { findUnstorable } from '../values/unstorable.ts';
import type { Room } from './body-budget.ts';
import type { HttpEnv } from './context.ts';
import { holderOf } from './guard.ts';
import { Problem } from './problem.ts';
import type { Slots } from './request-limit.ts';
import { cut } from './validation.ts';

export interface BodyLimits {
  maxBytes: number;
  /** For the whole body, from when it is first read: bytes that come one by one do not extend it. */
  maxMs: number;
}

/**
 * Reads the body once, strictly, before anything looks at it: not more than `maxBytes`, valid UTF-8, valid JSON, and
 * nothing in it that Postgres would refuse. No body counts as an empty object, so that what is missing gets named.
 */
export function readBody(limits: BodyLimits, { room, slots }: { room: Room; slots: Slots }) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const held = room.open();
    const release = slots.take(holderOf(c));
    try {
      const bytes = await bytesOf(c, limits, held.take).finally(release);
      const text = bytes.length === 0 ? '{}' : utf8(bytes);
      const isJson = /^application\/json\s*(;|$)/i.test(c.req.header('content-type') ?? '');
      if (isJson) check(text);
      // The validators read these instead of the stream, which is used up.
      Object.assign(c.req.bodyCache, {
        arrayBuffer: Promise.resolve(bytes.buffer),
        text: Promise.resolve(text),
      });
      await next();
    } finally {
      held.giveBack();
    }
  });
}

/** The whole body. `onBytes` hears of every piece before it is kept, and may refuse it. */
export async function bytesOf(
  c: Context,
  { maxBytes, maxMs }: BodyLimits,
  onBytes: (length: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  // What is announced is refused before it is sent; what is not is counted as it comes in.
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of inTime(c.req.raw.body, maxMs)) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      onBytes(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    // Whoever sends it has left: no fault of ours that would have to be looked into.
    throw error instanceof Problem ? error : new Problem('INVALID_ARGUMENT', 'The body did not arrive.');
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** The pieces of a body, until it ends or its time is over. It is not cancelled, which would close the socket without an answer. */
async function* inTime(
  body: ReadableStream<Uint8Array> | null,
  maxMs: number,
): AsyncGenerator<Uint8Array, void> {
  if (!body) return;
  const reader = body.getReader();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), maxMs);
  });
  try {
    for (;;) {
      const piece = await Promise.race([reader.read(), late]);
      if (piece === 'late') throw tooSlow(maxMs);
      if (piece.done) return;
      yield piece.value;
    }
  } finally {
    clearTimeout(timer);
  }
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Problem('INVALID_ARGUMENT', 'The body is not valid UTF-8.');
  }
}

function check(text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem('INVALID_ARGUMENT', 'The body is not valid JSON.');
  }
  const found = findUnstorable(value);
  if (!found) return;
  const field = cut(found.path.replaceAll('\0', '\\0')) || 'body';
  throw new Problem('INVALID_ARGUMENT', `${field} ${found.message}.`, {
    errors: [{ field, message: found.message }],
  });
}

function tooLarge(maxBytes: number): Problem {
  return new Problem('TOO_LARGE', `The body is larger than ${maxBytes} bytes.`);
}

function tooSlow(maxMs: number): Problem {
  return new Problem('INVALID_ARGUMENT', `The body did not arrive within ${maxMs / 1000} s.`, {
    status: 408,
    headers: { connection: 'close' },
  });
}
