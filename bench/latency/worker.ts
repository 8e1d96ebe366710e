/** A consumer in a process of its own: reads the feed of one tenant, and tells when each signal reached it. */
import { createSyncline, type Syncline } from '../../dist/index.js';
import { obeyParent } from '../tools/child.ts';
import { nowMs } from '../tools/clock.ts';

export type ConsumerOrder =
  | { action: 'start'; url: string; schema: string; tenant: string }
  | { action: 'stop' };

/** When each signal was handed out, by its dedupe key. */
export type ConsumerReport = Map<string, number>;

let engine: Syncline | undefined;
let over = new AbortController();
let reading: Promise<void> | undefined;
let fedAt: ConsumerReport = new Map();

async function read(current: Syncline, tenant: string, signal: AbortSignal): Promise<void> {
  for await (const { dedupeKey } of current.signals.feed({ tenant, after: 'latest', signal }))
    if (dedupeKey !== undefined) fedAt.set(dedupeKey, nowMs());
}

obeyParent(async (order: ConsumerOrder): Promise<ConsumerReport> => {
  if (order.action === 'start') {
    const { url, schema, tenant } = order;
    engine = createSyncline({ database: { url, schema }, log: { level: 'error' } });
    over = new AbortController();
    reading = read(engine, tenant, over.signal);
    return new Map();
  }
  over.abort();
  await reading;
  await engine?.stop();
  const told = fedAt;
  fedAt = new Map();
  return told;
});
