import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { Ports } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { jsonParts } from '../values/stored-json.ts';
import type { HttpEnv } from './context.ts';
import type { Reservation, ResponseMemory } from './response-memory.ts';

const smallBytes = 64 * 1024;
const sendMs = 60_000;

/** Never large; the feed reserves after its long poll. */
const exempt = /^\/v1\/(?:live|me|signals\/feed|stats|system)(?:\/|$)/;

/** Bounds the memory of large responses. */
export function boundResponses(memory: ResponseMemory, ports: Pick<Ports, 'sleep'>) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const reservation = memory.open(c.get('caller').id);
    let isSending = false;
    c.set('reservation', reservation);
    c.json = ((value: unknown, status: 200) => {
      const parts = jsonParts(value);
      const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
      const headers = { 'content-type': 'application/json', 'content-length': String(bytes) };
      if (c.req.method === 'HEAD') return c.body(null, status, headers);
      if (bytes <= smallBytes) return c.body(parts.join(''), status, headers);
      isSending = true;
      reservation.resize(bytes);
      return c.body(streamOf(c, parts, reservation, ports), status, headers);
    }) as unknown as typeof c.json;
    const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
    try {
      if (isRead && !exempt.test(c.get('path'))) await reservation.reserve();
      await next();
    } finally {
      if (!isSending) reservation.release();
    }
  });
}

/** Releases the memory when sent or aborted. */
function streamOf(
  c: Context<HttpEnv>,
  parts: string[],
  reservation: Reservation,
  ports: Pick<Ports, 'sleep'>,
): ReadableStream<Uint8Array> {
  const outgoing = c.env?.outgoing;
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const end = () => {
    cancelTimeout();
    parts.length = 0;
    reservation.release();
  };
  const giveUp = () => {
    end();
    if (outgoing) outgoing.destroy();
    else controller?.error(new Error(`The response was not read within ${sendMs / 1000} s.`));
  };
  const cancelTimeout = startTimer(ports, sendMs, giveUp, { ref: false });
  // The last chunk stays in memory until sent.
  if (outgoing) outgoing.once('close', end);
  else c.req.raw.signal.addEventListener('abort', end, { once: true });
  if (outgoing?.closed || c.req.raw.signal.aborted) end();
  return new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened;
      },
      pull: (opened) => {
        let text = '';
        while (parts.length > 0 && text.length < smallBytes) text += parts.shift() ?? '';
        if (text !== '') opened.enqueue(encoder.encode(text));
        if (parts.length > 0) return;
        opened.close();
        if (!outgoing) end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
