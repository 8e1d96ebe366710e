import type { TickResult } from '../../dist/index.js';
import type { Fleet } from '../tools/fleet.ts';
import { fixed, median, middleHalf, table, timeMs, verdict, whole } from '../tools/report.ts';

/** How many times the tick of a thousand connections an idle tick may take, however many connections there are. */
const goal = 2;
const warmUps = 5;

export interface IdleCase {
  label: string;
  tick: () => Promise<TickResult>;
}

export interface IdleResult {
  label: string;
  times: number[];
}

export const idleCase = ({ engine, size }: Fleet, state = 'nothing due', at?: Date): IdleCase => ({
  label: `${whole(size)}, ${state}`,
  tick: () => engine.tick(at ? { at } : {}),
});

/** Times idle ticks in turns, so that whatever else the machine does meets all of them alike. */
export async function measureIdle(cases: IdleCase[], rounds: number): Promise<IdleResult[]> {
  const results = cases.map(({ label }) => ({ label, times: [] as number[] }));
  for (let round = -warmUps; round < rounds; round++) {
    for (const [i, { label, tick }] of cases.entries()) {
      const ms = await timeMs(async () => requireIdle(label, await tick()));
      if (round >= 0) results[i]?.times.push(ms);
    }
  }
  return results;
}

function requireIdle(label: string, { scheduled, skippedPending, backlog }: TickResult): void {
  if (scheduled + skippedPending + backlog > 0) throw new Error(`${label}: the tick found something to do`);
}

/** Of each group the first is what the others are compared with. */
export function idleTable(groups: IdleResult[][]): string {
  const row = ({ label, times }: IdleResult) => [label, fixed(2)(median(times)), middleHalf(times, fixed(2))];
  const rows = groups.flatMap((group) => {
    const first = median(group[0]?.times ?? []);
    return group.map((result, i) => {
      const ratio = median(result.times) / first;
      return i === 0 ? [...row(result), '', ''] : [...row(result), fixed(2)(ratio), verdict(ratio <= goal)];
    });
  });
  return table(['Connections', 'median ms', 'middle half', 'ratio', `goal ≤ ${goal}`], rows);
}
