import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface LimitedProvider {
  url: string;
  /** What was counted in each window, with what others had used; the window under way is the last. */
  windows: number[];
  /** Requests beyond the limit. */
  refused(): number;
}

export interface ProviderOptions {
  limit: number;
  periodMs: number;
  /** When a window of it began; windows begin with the first request unless given. */
  alignedToMs?: number;
  /** What somebody else uses of the first window. */
  usedByOthers?: number;
  /** How it says when its window ends, if at all. */
  tells: 'epoch' | 'after' | 'nothing';
}

/** A provider that counts as providers do, and knows afterwards whether anybody exceeded its limit. */
export async function limitedProvider(options: ProviderOptions): Promise<LimitedProvider> {
  const { limit, periodMs, alignedToMs, usedByOthers = 0, tells } = options;
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
    const told = {
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': Math.max(0, limit - used),
      ...(tells === 'epoch'
        ? { 'x-ratelimit-reset': Math.floor(endsAtMs / 1000) }
        : { 'x-ratelimit-reset-after': (endsAtMs - nowMs) / 1000 }),
    };
    response.writeHead(used > limit ? 429 : 200, tells === 'nothing' ? {} : told);
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
