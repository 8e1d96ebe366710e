import type { Fleet } from '../tools/fleet.ts';
import type { StartOrder } from './worker.ts';

/** Enough at once that waiting for providers does not limit it; everything else is as it is unless configured. */
export const executor = { concurrency: 400, claimBatch: 200 };
export const poolSize = 10;

export function startOrder(url: string, { engine }: Fleet, retentionMinutes: number): StartOrder {
  const { schema } = engine.config.database;
  return { action: 'start', options: { database: { url, schema, poolSize }, executor }, retentionMinutes };
}
