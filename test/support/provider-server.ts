import { afterEach } from 'vitest';
import { type Trouble, tokensValidSince, troubleAt } from '../../src/dev/provider/weather.ts';
import { type ProviderServer, startProviderServer } from '../../src/dev/provider-server.ts';

export interface TestProviders {
  /** The time of the servers; moves only if set. */
  nowMs: number;
  readonly latencies: number[];
  start(): Promise<ProviderServer>;
}

/** Provider servers with their own clock and no latency. */
export function useProviders(): TestProviders {
  const running: ProviderServer[] = [];
  const providers: TestProviders = {
    nowMs: 0,
    latencies: [],
    start: async () => {
      const server = await startProviderServer({
        now: () => providers.nowMs,
        sleep: async (ms) => void providers.latencies.push(ms),
      });
      running.push(server);
      return server;
    },
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
  });
  return providers;
}

export const holder = 'acme';

const startMs = Date.parse('2026-03-02T09:00:00Z');

/** A time at which an account or token holder has this trouble, or none. */
export function momentOf(
  kind: Trouble['kind'] | undefined,
  provider: string,
  account: string,
  fromMs = startMs,
  tokenHolder = holder,
): number {
  for (let ms = fromMs; ; ms += 1000)
    if (troubleAt(provider, { holder: tokenHolder, account }, ms)?.kind === kind) return ms;
}

/** The start of minutes without trouble or expired sync tokens. */
export function calmMinutes(minutes: number, provider: string, account: string, fromMs = startMs): number {
  let calmSince = fromMs;
  for (let ms = fromMs; ms < calmSince + minutes * 60_000; ms += 1000)
    if (troubleAt(provider, { holder, account }, ms) || tokensValidSince(provider, account, ms) > calmSince)
      calmSince = ms + 1000;
  return calmSince;
}
