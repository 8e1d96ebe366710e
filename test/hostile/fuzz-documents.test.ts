import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Chance } from '../http/random.ts';
import { type Service, startService } from '../http/service.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { fuzzing, inRounds, timeoutMs } from './fuzz-rounds.ts';
import { generateDocument, type Meaning, meaningOf } from './generated-documents.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const { sql } = database;
const fuzz = fuzzing('documents', 2000, 1000);
const engineFields = `ARRAY['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds', 'cursor']`;
/** Cursors passed to the connector, by document number. */
const cursors = new Map<number, unknown>();

interface Row {
  index: number;
  /** Keys of other writers, as text. */
  others: string;
  /** `metadata.sync`, if it is an object. */
  sync: Record<string, unknown> | null;
  jobs: number;
}

const rows = () =>
  sql<Row>(
    `SELECT external_id::int AS index,
       CASE jsonb_typeof(metadata) WHEN 'object' THEN (metadata - 'sync')::text ELSE '{}' END || coalesce(CASE jsonb_typeof(metadata -> 'sync') WHEN 'object' THEN
         ((metadata -> 'sync') - ${engineFields})::text END, '{}') AS others,
       CASE jsonb_typeof(metadata -> 'sync') WHEN 'object' THEN metadata -> 'sync' END AS sync,
       (SELECT count(*)::int FROM sync_jobs j WHERE j.connection_id = c.id) AS jobs
     FROM connections c ORDER BY external_id::int`,
  );

function faultsOf(before: Row, after: Row, meaning: Meaning, reported: number | undefined): string[] {
  const { isLater, interval, isIntervalInvalid, cursor } = meaning;
  const faults: string[] = [];
  if (after.others !== before.others) faults.push('keys of other writers have changed');
  if (after.jobs !== (isLater ? 0 : 1)) faults.push(`it has ${after.jobs} jobs`);
  if (reported !== interval) faults.push(`the API reports interval ${reported}, expected ${interval}`);
  if (isLater) return faults;
  if (!isDeepStrictEqual(cursors.get(before.index), cursor)) faults.push('the connector got another cursor');
  const { next_run_at, last_jitter_seconds, interval_seconds } = after.sync ?? {};
  if (typeof next_run_at !== 'string' || Number.isNaN(Date.parse(next_run_at)))
    faults.push(`next_run_at is ${next_run_at}`);
  if (!Number.isInteger(last_jitter_seconds) || Number(last_jitter_seconds) > interval / 5)
    faults.push(`last_jitter_seconds is ${last_jitter_seconds}`);
  if (isIntervalInvalid && interval_seconds !== 900) faults.push(`interval_seconds is ${interval_seconds}`);
  return faults;
}

async function listIntervals({ call }: Service): Promise<Map<number, number>> {
  const intervals = new Map<number, number>();
  let after = '';
  do {
    const { status, body, text } = await call(`/v1/connections?limit=100${after}`);
    if (status !== 200) throw new Error(`the list returned ${status}: ${text.slice(0, 300)}`);
    for (const item of body.items)
      intervals.set(Number(item['external_id']), Number(item['base_interval_seconds']));
    after = body['next_cursor'] === null ? '' : `&cursor=${String(body['next_cursor'])}`;
  } while (after !== '');
  return intervals;
}

async function runRound(service: Service, chance: Chance, size: number): Promise<string[]> {
  const documents = Array.from({ length: size }, () => generateDocument(chance));
  await database.empty();
  cursors.clear();
  await sql(
    `INSERT INTO connections (tenant_id, provider_slug, external_id, metadata)
     SELECT $1, 'github', (i - 1)::text, d::jsonb FROM unnest($2::text[]) WITH ORDINALITY AS documents (d, i)`,
    [tenant, documents],
  );
  const before = await rows();
  const intervals = await listIntervals(service);
  const meanings = documents.map(meaningOf);
  await service.syncline.tick();
  const { claimed, succeeded } = await service.syncline.drain();
  const after = await rows();
  await listIntervals(service);
  const faults = before.flatMap((row, i) =>
    faultsOf(row, after[i] as Row, meanings[i] as Meaning, intervals.get(i)).map(
      (fault) => `${fault}: ${documents[i]?.slice(0, 500)}`,
    ),
  );
  if (claimed !== succeeded) faults.push(`of ${claimed} runs only ${succeeded} succeeded`);
  return faults;
}

describe('DB-3: generated metadata', () => {
  it(`DB-3: ${fuzz.count} generated documents are reported, scheduled, run and repaired`, {
    timeout: timeoutMs(fuzz),
  }, async () => {
    const service = await startService(database, {
      engine: {
        scheduler: { batchSize: 500 },
        executor: { concurrency: 200 },
        connectors: [
          connector(({ connection, cursor }) => {
            cursors.set(Number(connection.externalId), cursor);
            return { signals: [] };
          }),
        ],
      },
    });
    await inRounds(fuzz, (chance, size) => runRound(service, chance, size));
    expect(Object.keys(Object.prototype)).toEqual([]);
    await stillSyncs(database);
  });
});
