import { createFleet, type Fleet, fillConnections } from '../tools/fleet.ts';
import { type Bench, withClient } from '../tools/postgres.ts';
import { progress, whole } from '../tools/text.ts';
import { type LagLoad, measureLags, measureTicks, type StartLag, type Ticks } from './own.ts';
import { measurePeers, type PeerResult } from './peers.ts';

const scales = {
  full: { sizes: [1000, 10_000, 100_000, 1_000_000], rounds: 31, lagRounds: 5, peerRounds: 5 },
  quick: { sizes: [1000, 10_000, 100_000], rounds: 11, lagRounds: 1, peerRounds: 1 },
};
/** Due connections in a tick that schedules some. */
const due = 100;
const database = 'bench_many_schedules';

export interface ManySchedulesResult {
  due: number;
  ticks: Ticks[];
  lag: LagLoad;
  lags: StartLag[][];
  peers: PeerResult[];
}

/** Measures the cost of a tick and the start lag as the number of schedules grows. Peers get no more than 100,000. */
export async function measureManySchedules(
  bench: Bench,
  scaleName: 'full' | 'quick',
): Promise<ManySchedulesResult> {
  const { sizes, rounds, lagRounds, peerRounds } = scales[scaleName];
  const lag: LagLoad = { perSecond: 200, seconds: 5, rounds: lagRounds };
  const url = await bench.createDatabase(database);
  const own = await withClient(url, async (client) => {
    const fleets: Fleet[] = [];
    for (const size of sizes) {
      progress(`many schedules: inserting ${whole(size)} connections`);
      const fleet = await createFleet(client, url, size, String(size));
      fleets.push(fleet);
      const none = { due: 0, from: new Date(), overSeconds: 1, intervalSeconds: 3600 };
      await fillConnections(client, fleet, none);
    }
    const ticks = await measureTicks(client, fleets, due, rounds);
    const lags = await measureLags(client, url, fleets, lag);
    await Promise.all(fleets.map(({ engine }) => engine.stop()));
    return { due, ticks, lag, lags };
  });
  await bench.dropDatabase(database);
  return { ...own, peers: await measurePeers(bench, sizes.slice(0, 3), peerRounds, due) };
}
