import type { TickResult } from '../../dist/index.js';
import type { Fleet } from '../tools/fleet.ts';
import { timeMs, whole } from '../tools/report.ts';

const warmUps = 5;

interface IdleCase {
  label: string;
  tick: () => Promise<TickResult>;
}

interface IdleResult {
  label: string;
  times: number[];
}

export const idleCase = ({ engine, size }: Fleet): IdleCase => ({
  label: `${whole(size)}, nothing due`,
  tick: () => engine.tick(),
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
