import { afterEach } from 'vitest';
import { type Trouble, tokensValidSince, troubleAt } from '../../src/dev/provider/weather.ts';
import { type ProviderServer, startProviderServer } from '../../src/dev/provider-server.ts';

export interface TestProviders {
  /** The time of day there. It stands still unless it is moved. */
  nowMs: number;
  /** How long each answer would have taken. */
  readonly latencies: number[];
  start(): Promise<ProviderServer>;
}

/** Provider servers with a clock of their own that answer at once; stopped when the test ends. */
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

/** Whose token tests show, unless they say so. */
export const holder = 'acme';

const startMs = Date.parse('2026-03-02T09:00:00Z');

/** A moment at which an account, or the holder of its token, has a certain trouble, or none. */
export function momentOf(
  kind: Trouble['kind'] | undefined,
  provider: string,
  account: string,
  fromMs = startMs,
  whose = holder,
): number {
  for (let ms = fromMs; ; ms += 1000)
    if (troubleAt(provider, { holder: whose, account }, ms)?.kind === kind) return ms;
}

/** The start of minutes in which an account has no trouble and keeps its sync tokens. */
export function calmMinutes(minutes: number, provider: string, account: string, fromMs = startMs): number {
  let calmSince = fromMs;
  for (let ms = fromMs; ms < calmSince + minutes * 60_000; ms += 1000)
    if (troubleAt(provider, { holder, account }, ms) || tokensValidSince(provider, account, ms) > calmSince)
      calmSince = ms + 1000;
  return calmSince;
}
