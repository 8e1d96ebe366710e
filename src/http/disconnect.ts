import type { Context } from 'hono';
import type { HttpEnv } from './context.ts';

/** Also when the service stops. */
export function abortOnDisconnect(
  c: Context<HttpEnv>,
  stop: AbortSignal | undefined,
): { signal: AbortSignal; end(): void; release(): void } {
  const disconnect = new AbortController();
  // The server's signal outlives requests.
  const listeners = new AbortController();
  for (const source of [c.req.raw.signal, c.env?.stopping, stop]) {
    if (source?.aborted) disconnect.abort();
    source?.addEventListener('abort', () => disconnect.abort(), { once: true, signal: listeners.signal });
  }
  return { signal: disconnect.signal, end: () => disconnect.abort(), release: () => listeners.abort() };
}
