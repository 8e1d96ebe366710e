import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { findUnstorable } from '../unstorable.ts';
import type { HttpEnv } from './context.ts';
import { Problem } from './problem.ts';
import { cut } from './validation.ts';

/**
 * Reads the body once, strictly, before anything looks at it: not more than `mostBytes`, valid UTF-8, valid JSON, and
 * nothing in it that Postgres would refuse. No body counts as an empty object, so that what is missing gets named.
 */
export function readBody(mostBytes: number) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
      const bytes = await bytesOf(c, mostBytes);
      const text = bytes.length === 0 ? '{}' : utf8(bytes);
      const isJson = /^application\/json\s*(;|$)/i.test(c.req.header('content-type') ?? '');
      if (isJson) check(text);
      // The validators read these instead of the stream, which is used up.
      Object.assign(c.req.bodyCache, {
        arrayBuffer: Promise.resolve(bytes.buffer),
        text: Promise.resolve(text),
      });
    }
    await next();
  });
}

/** The whole body. `onBytes` hears of every piece before it is kept, and may refuse it. */
export async function bytesOf(
  c: Context,
  mostBytes: number,
  onBytes: (length: number) => void = () => {},
): Promise<Uint8Array<ArrayBuffer>> {
  // What is announced is refused before it is sent; what is not is counted as it comes in.
  if (Number(c.req.header('content-length') ?? 0) > mostBytes) throw tooLarge(mostBytes);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of c.req.raw.body ?? []) {
      length += chunk.length;
      if (length > mostBytes) throw tooLarge(mostBytes);
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

function tooLarge(mostBytes: number): Problem {
  return new Problem('TOO_LARGE', `The body is larger than ${mostBytes} bytes.`);
}
