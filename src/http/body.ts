import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { Ports } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { findUnstorable } from '../values/unstorable.ts';
import type { BodyBudget } from './body-budget.ts';
import type { HttpEnv } from './context.ts';
import { holderOf } from './guard.ts';
import { Problem } from './problem.ts';
import type { Slots } from './request-limit.ts';
import { cut } from './validation.ts';

export interface BodyLimits {
  maxBytes: number;
  /** For the whole body. */
  maxMs: number;
  ports: Pick<Ports, 'sleep'>;
}

/** Rejects text that Postgres rejects. An empty body is `{}`, so validation names missing fields. */
export function readBody(limits: BodyLimits, { budget, slots }: { budget: BodyBudget; slots: Slots }) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const held = budget.open();
    const release = slots.take(holderOf(c));
    try {
      const bytes = await readBytes(c, limits, held.take).finally(release);
      const text = bytes.length === 0 ? '{}' : utf8(bytes);
      const isJson = /^application\/json\s*(;|$)/i.test(c.req.header('content-type') ?? '');
      if (isJson) checkJson(text);
      // Validators read this cache: the stream is consumed.
      Object.assign(c.req.bodyCache, {
        arrayBuffer: Promise.resolve(bytes.buffer),
        text: Promise.resolve(text),
      });
      await next();
    } finally {
      held.release();
    }
  });
}

export const readBefore = 'Mount Syncline before body parsers, such as express.json().';

/** Before it keeps a chunk, calls `onBytes`, which may throw. */
export async function readBytes(
  c: Context<HttpEnv>,
  { maxBytes, maxMs, ports }: BodyLimits,
  onBytes: (length: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  if (c.env?.body === 'lost')
    throw new Problem('INTERNAL', 'The body was read before the request reached Syncline.', {
      hint: readBefore,
    });
  // Before reading; chunked bodies are counted below.
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of chunksUntil(c.req.raw.body, maxMs, ports)) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      onBytes(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('INVALID_ARGUMENT', 'The body did not arrive.');
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** 408 after `maxMs`; cancelling the stream would close the socket before the response. */
async function* chunksUntil(
  body: ReadableStream<Uint8Array> | null,
  maxMs: number,
  ports: Pick<Ports, 'sleep'>,
): AsyncGenerator<Uint8Array, void> {
  if (!body) return;
  const reader = body.getReader();
  let cancelTimeout = () => {};
  const timeout = new Promise<'timeout'>((resolve) => {
    cancelTimeout = startTimer(ports, maxMs, () => resolve('timeout'));
  });
  try {
    for (;;) {
      const chunk = await Promise.race([reader.read(), timeout]);
      if (chunk === 'timeout') throw tooSlow(maxMs);
      if (chunk.done) return;
      yield chunk.value;
    }
  } finally {
    cancelTimeout();
  }
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Problem('INVALID_ARGUMENT', 'The body is not valid UTF-8.');
  }
}

function checkJson(text: string): void {
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
