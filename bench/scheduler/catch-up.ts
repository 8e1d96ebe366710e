import type pg from 'pg';
import { type Fleet, resetFleet, verifyPlaced } from '../tools/fleet.ts';
import { fixed, median, progress, spread, table, timeMs, verdict, whole } from '../tools/report.ts';
import { placeAtOnce, placeInBatches } from './bare.ts';

/** The part of the speed of SQL in batches that the engine must reach. */
const goal = 0.7;

const ways = ['engine', 'batches', 'at once'] as const;
type Way = (typeof ways)[number];
/** Jobs placed per second. */
export type Rates = Record<Way, number>;

/** Makes every connection overdue, places all of them in one way, checks what came of it, and returns the rate. */
export async function catchUp(
  client: pg.Client,
  fleet: Fleet,
  way: Way,
  at: Date,
  watch = (work: () => Promise<void>): Promise<void> => work(),
): Promise<number> {
  const place: Record<Way, () => Promise<number>> = {
    engine: async () => (await fleet.engine.tick({ at })).scheduled,
    batches: () => placeInBatches(client, fleet, at),
    'at once': () => placeAtOnce(client, fleet, at),
  };
  await resetFleet(client, fleet, 'overdue', at);
  let [placed, seconds] = [0, 0];
  await watch(async () => {
    const ms = await timeMs(async () => {
      placed = await place[way]();
    });
    seconds = ms / 1000;
  });
  if (placed !== fleet.size) throw new Error(`${way}: ${placed} placed, not ${fleet.size}`);
  await verifyPlaced(client, fleet, at);
  progress(`  ${way}: ${whole(placed)} in ${fixed(1)(seconds)} s, ${whole(placed / seconds)}/s`);
  return placed / seconds;
}

/** Every way in turns, another one first each round. */
export async function catchUpRounds(
  client: pg.Client,
  fleet: Fleet,
  at: Date,
  count: number,
): Promise<Rates[]> {
  const rounds: Rates[] = [];
  for (let round = 0; round < count; round++) {
    progress(`catching up with ${whole(fleet.size)}, round ${round + 1} of ${count}`);
    const rates: Rates = { engine: 0, batches: 0, 'at once': 0 };
    for (const way of [...ways.slice(round % 3), ...ways.slice(0, round % 3)]) {
      rates[way] = await catchUp(client, fleet, way, at);
    }
    rounds.push(rates);
  }
  return rounds;
}

export function catchUpTable(results: { size: number; rounds: Rates[] }[]): string {
  const head = ['Connections', 'rounds', 'engine/s', 'SQL in batches/s', 'SQL at once/s'];
  return table(
    [...head, 'engine to batches', `goal ≥ ${goal}`, 'engine to at once'],
    results.map(({ size, rounds }) => {
      const rates = ways.map((way) => whole(median(rounds.map((round) => round[way]))));
      const toBatches = rounds.map((round) => round.engine / round.batches);
      const toAtOnce = rounds.map((round) => round.engine / round['at once']);
      const met = verdict(median(toBatches) >= goal);
      return [whole(size), String(rounds.length), ...rates, ratio(toBatches), met, ratio(toAtOnce)];
    }),
  );
}

function ratio(values: number[]): string {
  const middle = fixed(2)(median(values));
  return values.length === 1 ? middle : `${middle} (${spread(values, fixed(2))})`;
}
