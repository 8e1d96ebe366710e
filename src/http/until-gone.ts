import type { Context } from 'hono';
import type { HttpEnv } from './context.ts';

/** A signal that aborts when nobody waits for the answer any more: the client has left, or the service stops. */
export function untilGone(
  c: Context<HttpEnv>,
  stop: AbortSignal | undefined,
): { signal: AbortSignal; end(): void; release(): void } {
  const gone = new AbortController();
  // Listeners are taken away at the end: a server's signal outlives a great many requests.
  const over = new AbortController();
  for (const source of [c.req.raw.signal, c.env?.stopping, stop]) {
    if (source?.aborted) gone.abort();
    source?.addEventListener('abort', () => gone.abort(), { once: true, signal: over.signal });
  }
  return { signal: gone.signal, end: () => gone.abort(), release: () => over.abort() };
}
