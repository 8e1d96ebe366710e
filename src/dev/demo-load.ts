import { SynclineError } from '../contract/errors.ts';
import type { Queryable } from '../store/database.ts';
import { sql, unnest } from '../store/sql.ts';
import type { Syncline } from '../syncline.ts';
import { demoProviders } from './demo-accounts.ts';
import { type DemoHolder, demoCredentials } from './demo-credentials.ts';
import { withDemoDatabase } from './demo-database.ts';

export interface LoadOptions {
  connections: number;
  intervalSeconds: number;
  nowMs: number;
  onProgress: (done: number) => void;
}

/** Bounds transactions; each batch's credentials stay below provider limits. */
const insertBatchSize = 500;
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
      await insertSql.all(database, {
        r: rows.map((row, i) => ({ ...row, credentialId: credentialIds[i] })),
        now: new Date(options.nowMs),
      });
      done += size;
      onProgress(done);
    }
  });
}

const findDemoTenantsSql = sql<{ tenant_id: string }>`
  SELECT DISTINCT tenant_id FROM :schema.connections WHERE metadata @> '{"demo": true}' ORDER BY tenant_id`;

async function demoTenantIds(database: Queryable): Promise<string[]> {
  const rows = await findDemoTenantsSql.all(database);
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

const findHighestSql = sql<{ highest: number }>`
  SELECT coalesce(max(substring(external_id FROM '^load-([0-9]{1,9})$')::int), 0) AS highest
  FROM :schema.connections WHERE ${loadConnections}`;

const highestNumber = async (database: Queryable) => (await findHighestSql.first(database))?.highest ?? 0;

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

const insertSql = sql<object>`
  INSERT INTO :schema.connections
    (tenant_id, provider_slug, external_id, metadata, config, credential_id, created_at, updated_at)
  SELECT tenant_id, provider, external_id, metadata, config, credential_id, :now, :now
  FROM ${unnest('r', {
    tenantId: 'uuid',
    provider: 'text',
    externalId: 'text',
    metadata: 'jsonb',
    config: 'jsonb',
    credentialId: 'uuid',
  })}`;

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
const lockBatchSql = sql<{ id: string; credential_id: string | null }>`
  SELECT id, credential_id FROM :schema.connections WHERE ${loadConnections}
  ORDER BY id LIMIT ${deleteBatchSize} FOR UPDATE`;

const deleteConnectionsSql = sql<object>`DELETE FROM :schema.connections WHERE id = ANY (:ids::uuid[])`;

const deleteUnusedCredentialsSql = sql<object>`
  DELETE FROM :schema.credentials c WHERE id = ANY (:ids::uuid[]) AND name LIKE 'load-%'
    AND NOT EXISTS (SELECT FROM :schema.connections WHERE credential_id = c.id)`;

async function deleteBatch(database: Queryable): Promise<number> {
  await database.query('BEGIN');
  try {
    const rows = await lockBatchSql.all(database);
    await deleteConnectionsSql.all(database, { ids: rows.map((row) => row.id) });
    await deleteUnusedCredentialsSql.all(database, { ids: rows.map((row) => row.credential_id) });
    await database.query('COMMIT');
    return rows.length;
  } catch (error) {
    await database.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
