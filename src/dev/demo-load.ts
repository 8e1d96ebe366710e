import { SynclineError } from '../contract/errors.ts';
import type { Syncline } from '../syncline.ts';
import { demoProviders } from './demo-accounts.ts';
import { type DemoHolder, demoCredentials } from './demo-credentials.ts';
import { type DemoDatabase, withDemoDatabase } from './demo-database.ts';

export interface LoadOptions {
  connections: number;
  intervalSeconds: number;
  nowMs: number;
  onProgress: (done: number) => void;
}

/** Bounds transactions; each batch's credentials stay below provider limits. */
const insertBatchSize = 500;
/** Deletes cascade to jobs and signals. */
const deleteBatchSize = 100;

/** Users may also have connections named `load-…`. */
const loadConnections = `external_id LIKE 'load-%' AND metadata @> '{"demo": "load"}'`;

export async function addLoad(syncline: Syncline, options: LoadOptions): Promise<void> {
  const { connections, onProgress } = options;
  await withDemoDatabase(syncline, async (database) => {
    const tenantIds = await demoTenantIds(database);
    await registerProviders(syncline);
    const credentialOf = demoCredentials(syncline);
    const first = (await highestNumber(database)) + 1;
    for (let done = 0; done < connections; ) {
      const size = Math.min(insertBatchSize, connections - done);
      const rows = Array.from({ length: size }, (_, i) => rowOf(first, done + i, tenantIds, options));
      const credentialIds = await Promise.all(rows.map(credentialOf));
      await insert(database, rows, credentialIds, options.nowMs);
      done += size;
      onProgress(done);
    }
  });
}

async function demoTenantIds({ client, schema }: DemoDatabase): Promise<string[]> {
  const { rows } = await client.query<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM ${schema}.connections WHERE metadata @> '{"demo": true}'
     ORDER BY tenant_id`,
  );
  if (rows.length === 0)
    throw new SynclineError('NOT_FOUND', 'There is no demo in this database.', {
      hint: 'Start `syncline dev` without a configured database, and run this in the same directory.',
    });
  return rows.map((row) => row.tenant_id);
}

/** Older demos lack some providers. */
async function registerProviders({ providers }: Syncline): Promise<void> {
  for (const { slug, displayName } of demoProviders) await providers.register({ slug, displayName });
}

async function highestNumber({ client, schema }: DemoDatabase): Promise<number> {
  const { rows } = await client.query<{ highest: number }>(
    `SELECT coalesce(max(substring(external_id FROM '^load-(\\d{1,9})$')::int), 0) AS highest
     FROM ${schema}.connections WHERE ${loadConnections}`,
  );
  return rows[0]?.highest ?? 0;
}

interface LoadRow extends DemoHolder {
  externalId: string;
  metadata: string;
  config: string;
}

function rowOf(first: number, i: number, tenantIds: string[], options: LoadOptions): LoadRow {
  const { connections, intervalSeconds, nowMs } = options;
  const provider = demoProviders[i % demoProviders.length] as (typeof demoProviders)[number];
  const tenant = i % tenantIds.length;
  const dueMs = nowMs + (intervalSeconds * 1000 * i) / connections;
  const sync = {
    first_activated_at: new Date(nowMs).toISOString(),
    interval_seconds: intervalSeconds,
    next_run_at: new Date(dueMs).toISOString(),
  };
  return {
    // Coprime counts: every tenant gets all providers.
    tenantId: tenantIds[tenant] as string,
    provider: provider.slug,
    holder: `load-${first + i - (i % insertBatchSize)}-${tenant}`,
    externalId: `load-${first + i}`,
    metadata: JSON.stringify({ demo: 'load', sync }),
    config: JSON.stringify(provider.configOf(provider.loadAccount(first + i))),
  };
}

async function insert(
  { client, schema }: DemoDatabase,
  rows: LoadRow[],
  credentialIds: string[],
  nowMs: number,
): Promise<void> {
  await client.query(
    `INSERT INTO ${schema}.connections
       (tenant_id, provider_slug, external_id, metadata, config, credential_id, created_at, updated_at)
     SELECT tenant_id, provider, external_id, metadata, config, credential_id, $7, $7
     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::jsonb[], $6::uuid[])
       AS r (tenant_id, provider, external_id, metadata, config, credential_id)`,
    [
      rows.map((row) => row.tenantId),
      rows.map((row) => row.provider),
      rows.map((row) => row.externalId),
      rows.map((row) => row.metadata),
      rows.map((row) => row.config),
      credentialIds,
      new Date(nowMs),
    ],
  );
}

export async function deleteLoad(syncline: Syncline, onProgress: (done: number) => void): Promise<number> {
  return withDemoDatabase(syncline, async (database) => {
    for (let done = 0; ; ) {
      const deleted = await deleteBatch(database);
      done += deleted;
      if (deleted === 0) return done;
      onProgress(done);
    }
  });
}

/** The engine's lock order: connections by id. */
async function deleteBatch({ client, schema }: DemoDatabase): Promise<number> {
  await client.query('BEGIN');
  try {
    const { rows } = await client.query<{ id: string; credential_id: string | null }>(
      `SELECT id, credential_id FROM ${schema}.connections WHERE ${loadConnections}
       ORDER BY id LIMIT ${deleteBatchSize} FOR UPDATE`,
    );
    await client.query(`DELETE FROM ${schema}.connections WHERE id = ANY ($1::uuid[])`, [
      rows.map((row) => row.id),
    ]);
    await client.query(
      `DELETE FROM ${schema}.credentials c WHERE id = ANY ($1::uuid[]) AND name LIKE 'load-%'
         AND NOT EXISTS (SELECT FROM ${schema}.connections WHERE credential_id = c.id)`,
      [rows.map((row) => row.credential_id)],
    );
    await client.query('COMMIT');
    return rows.length;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
