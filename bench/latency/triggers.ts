import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Fleet, openEngine, providers } from '../tools/fleet.ts';
import { nowMs } from '../tools/text.ts';

/** Milliseconds from the call of `trigger` to each stage. */
export interface Sample {
  acknowledgedMs: number;
  startedMs: number;
  visibleMs: number;
  /** The feed delivers the signal to a consumer in another process than the engine. */
  deliveredMs: number;
}

/** The tenant of the triggered connections. They never come due, so each sync of this tenant is triggered. */
export const watchedTenant = uuidOf('watched');
const [minPauseMs, maxPauseMs] = [50, 500];
const timeoutMs = 60_000;
/** The feed polls every 200 ms, so all signals are delivered within this time. */
const deliveryMs = 1500;

const connectionIds = Array.from({ length: 500 }, (_, n) => uuidOf(`watched connection ${n}`));

export async function addWatched(client: pg.Client, { schema }: Fleet): Promise<void> {
  await client.query(
    `INSERT INTO ${schema}.tenants (id, name) VALUES ($1, 'Watched') ON CONFLICT DO NOTHING`,
    [watchedTenant],
  );
  await client.query(
    `INSERT INTO ${schema}.connections (id, tenant_id, provider_slug, external_id, metadata)
     SELECT id, $2, ($3::text[])[1 + n % ${providers.length}], 'watched-' || n,
       '{"sync": {"next_run_at": "2099-01-01T00:00:00.000Z", "interval_seconds": 3600}}'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, n)`,
    [connectionIds, watchedTenant, providers],
  );
}

/**
 * Triggers one connection after another; waits for each signal and then for a random pause. Returns a function that adds the
 * start times of the engine process.
 */
export async function triggerEach(
  client: pg.Client,
  url: string,
  { schema, schemaName }: Fleet,
  count: number,
): Promise<(startedAt: Map<string, number>) => Sample[]> {
  const engine = openEngine(url, schemaName);
  const deliveredAt = new Map<string, number>();
  const stopping = new AbortController();
  const feed = engine.signals.feed({ tenantId: watchedTenant, after: 'latest', signal: stopping.signal });
  const consume = async () => {
    for await (const { dedupeKey } of feed) if (dedupeKey !== undefined) deliveredAt.set(dedupeKey, nowMs());
  };
  const consuming = consume();
  const triggers: { jobId: string; at: number; acknowledgedAt: number; visibleAt: number }[] = [];
  for (let i = 0; i < count; i++) {
    await delay(minPauseMs + Math.random() * (maxPauseMs - minPauseMs));
    const connectionId = connectionIds[i % connectionIds.length] as string;
    const at = nowMs();
    const { jobId } = await engine.connections.trigger(connectionId);
    const acknowledgedAt = nowMs();
    await untilVisible(client, schema, [connectionId, jobId]);
    triggers.push({ jobId, at, acknowledgedAt, visibleAt: nowMs() });
  }
  await delay(deliveryMs);
  stopping.abort();
  await consuming;
  await engine.stop();
  return (startedAt) =>
    triggers.map(({ jobId, at, acknowledgedAt, visibleAt }) => {
      const [started, delivered] = [startedAt.get(jobId), deliveredAt.get(jobId)];
      if (started === undefined || delivered === undefined)
        throw new Error(`Job ${jobId} was triggered but ${started ? 'not delivered' : 'did not run'}.`);
      return {
        acknowledgedMs: acknowledgedAt - at,
        startedMs: started - at,
        visibleMs: visibleAt - at,
        deliveredMs: delivered - at,
      };
    });
}

async function untilVisible(client: pg.Client, schema: string, values: string[]): Promise<void> {
  const text = `SELECT FROM ${schema}.signals WHERE connection_id = $1 AND dedupe_key = $2`;
  const deadline = nowMs() + timeoutMs;
  while ((await client.query({ name: 'visible', text, values })).rowCount === 0) {
    if (nowMs() > deadline) throw new Error(`Job ${values[1]} stored no signal within ${timeoutMs} ms.`);
    await delay(1);
  }
}

function uuidOf(text: string): string {
  const hash = createHash('md5').update(text).digest('hex');
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
