import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Fleet, resetFleet } from '../tools/fleet.ts';
import { progress, table, verdict, whole } from '../tools/report.ts';
import { countStatements } from './statements.ts';
import type { Workers } from './workers.ts';

/** Statements per minute that a process with nothing to do must stay below. */
const goal = 30;
/** By then it has registered and looked around. */
const settleMs = 2000;

/** One process that has nothing to do, for so long. */
export async function measureIdleProcess(
  { client, workers, fleet }: { client: pg.Client; workers: Workers; fleet: Fleet },
  seconds: number,
): Promise<string> {
  progress(`nothing to do for ${seconds} s`);
  await resetFleet(client, fleet, 'idle', new Date());
  await workers.tell('start', fleet, 1);
  await delay(settleMs);
  const statements = await countStatements(client, () => delay(seconds * 1000));
  await workers.tell('stop', fleet, 1);
  const perMinute = (statements / seconds) * 60;
  return table(
    ['Idle process', 'seconds', 'statements', 'per minute', `goal < ${goal}`],
    [['executor', whole(seconds), whole(statements), whole(perMinute), verdict(perMinute < goal)]],
  );
}
