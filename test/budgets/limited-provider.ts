import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface LimitedProvider {
  url: string;
  /** Requests per window, including those of others; the last is the current window. */
  windows: number[];
  refused(): number;
}

export interface ProviderOptions {
  limit: number;
  periodMs: number;
  /** The start of a window; by default, a window starts with the first request. */
  alignedToMs?: number;
  /** Requests of other clients in the first window. */
  usedByOthers?: number;
  /** Which header reports the end of a window. */
  reports: 'epoch' | 'after' | 'nothing';
}

/** A rate-limited provider that counts requests per window. */
export async function limitedProvider(options: ProviderOptions): Promise<LimitedProvider> {
  const { limit, periodMs, alignedToMs, usedByOthers = 0, reports } = options;
  const windows: number[] = [];
  let endsAtMs = 0;
  let used = 0;
  let refused = 0;
  const server = createServer((_request, response) => {
    const nowMs = Date.now();
    if (nowMs >= endsAtMs) {
      const sinceMs = alignedToMs === undefined ? 0 : (nowMs - alignedToMs) % periodMs;
      endsAtMs = nowMs - sinceMs + periodMs;
      used = windows.length === 0 ? usedByOthers : 0;
      windows.push(used);
    }
    used++;
    windows[windows.length - 1] = used;
    if (used > limit) refused++;
    const headers = {
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': Math.max(0, limit - used),
      ...(reports === 'epoch'
        ? { 'x-ratelimit-reset': Math.floor(endsAtMs / 1000) }
        : { 'x-ratelimit-reset-after': (endsAtMs - nowMs) / 1000 }),
    };
    response.writeHead(used > limit ? 429 : 200, reports === 'nothing' ? {} : headers);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, windows, refused: () => refused };
}
