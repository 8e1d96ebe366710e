import type pg from 'pg';
import type { Fleet } from '../tools/fleet.ts';
import { progress, timeMs, whole } from '../tools/report.ts';
import { makeDue } from './due.ts';
import { idleCase, measureIdle } from './idle.ts';

/** What ticks took, in each round. */
export interface Ticks {
  connections: number;
  nothingDueMs: number[];
  someDueMs: number[];
}

const warmUps = 3;

/** Ticks of all fleets in turns, with nothing due, then with a few due. */
export async function measureTicks(
  client: pg.Client,
  fleets: Fleet[],
  { due, rounds }: { due: number; rounds: number },
): Promise<Ticks[]> {
  progress(`many schedules: ${rounds} ticks with nothing due`);
  const idle = await measureIdle(
    fleets.map((fleet) => idleCase(fleet)),
    rounds,
  );
  const results = fleets.map(({ size }, i) => ({
    connections: size,
    nothingDueMs: idle[i]?.times ?? [],
    someDueMs: [] as number[],
  }));
  progress(`many schedules: ${rounds} ticks with ${whole(due)} due`);
  for (let round = -warmUps; round < rounds; round++) {
    for (let turn = 0; turn < fleets.length; turn++) {
      // Another one first each round.
      const i = (turn + round + warmUps) % fleets.length;
      const ms = await tickWith(client, fleets[i] as Fleet, { due, first: (round + warmUps) * due });
      if (round >= 0) results[i]?.someDueMs.push(ms);
    }
  }
  return results;
}

async function tickWith(
  client: pg.Client,
  fleet: Fleet,
  { due, first }: { due: number; first: number },
): Promise<number> {
  await makeDue(client, fleet, { first, count: due, from: new Date(Date.now() - 1000), overSeconds: 0 });
  let scheduled = 0;
  const ms = await timeMs(async () => {
    scheduled = (await fleet.engine.tick()).scheduled;
  });
  const { rowCount } = await client.query(`DELETE FROM ${fleet.schema}.sync_jobs`);
  if (scheduled !== due || rowCount !== due)
    throw new Error(`${fleet.name}: ${due} were due, ${scheduled} placed, ${rowCount} jobs made`);
  return ms;
}
