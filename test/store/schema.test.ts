import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql, connect } = database;

describe('the schema is a public contract', () => {
  it('DB-1: the unique index has the documented definition', async () => {
    const [row] = await sql<{ indexdef: string }>(
      `SELECT indexdef FROM pg_indexes WHERE indexname = 'idx_sync_jobs_connection_type_status'`,
    );
    expect(row?.indexdef).toBe(
      'CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON syncline.sync_jobs USING btree (connection_id, job_type) ' +
        `WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]))`,
    );
  });

  it('DB-1: rejects a second pending job of a type, also while the first runs', async () => {
    const id = await connect();
    const insert = () =>
      sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'github', $2, 'incremental')`,
        [tenant, id],
      );
    await insert();
    await expect(insert()).rejects.toMatchObject({ code: '23505' });
    await sql(`UPDATE sync_jobs SET status = 'running' WHERE connection_id = $1`, [id]);
    await expect(insert()).rejects.toMatchObject({ code: '23505' });
  });

  it('DB-1: jobs of different types can be queued together', async () => {
    const id = await connect();
    for (const type of ['incremental', 'full', 'webhook']) {
      await sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'github', $2, $3)`,
        [tenant, id, type],
      );
    }
    expect(await sql('SELECT FROM sync_jobs WHERE connection_id = $1', [id])).toHaveLength(3);
  });

  it.each(['succeeded', 'completed', 'failed', 'cancelled'])(
    'DB-1: a %s job does not block a new one',
    async (status) => {
      const id = await connect();
      await database.ended(id, '2025-01-01T12:00:00Z', status);
      await sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'github', $2, 'incremental')`,
        [tenant, id],
      );
    },
  );

  it('schema: rows can be inserted with only the columns that have no default', async () => {
    await sql('INSERT INTO tenants DEFAULT VALUES');
    await sql(`INSERT INTO providers (slug) VALUES ('bare')`);
    const [connection] = await sql<{ id: string; status: string; metadata: object }>(
      `INSERT INTO connections (tenant_id, provider_slug) VALUES ($1, 'bare') RETURNING id, status, metadata`,
      [tenant],
    );
    expect(connection).toMatchObject({ status: 'active', metadata: {} });
    const [job] = await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'bare', $2, 'incremental')
       RETURNING status, priority, attempts, retry_after, started_at, finished_at, cursor, error`,
      [tenant, connection?.id],
    );
    expect(job).toEqual({
      status: 'queued',
      priority: 0,
      attempts: 0,
      retry_after: null,
      started_at: null,
      finished_at: null,
      cursor: null,
      error: null,
    });
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload) VALUES ($1, 'bare', $2, 'k', now(), '{}')`,
      [tenant, connection?.id],
    );
  });

  it('schema: default IDs are UUIDv7 and sort by time with those of the engine', async () => {
    // Ids never decrease, and a test with a later clock may have used the shared module before.
    vi.resetModules();
    const { systemPorts } = await import('../../src/platform/ports.ts');
    const before = systemPorts.newId();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      ids.push(await connect());
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
    const all = [before, ...ids, systemPorts.newId()];
    expect(all).toEqual(all.toSorted());
    for (const id of ids)
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('DB-2: patch_sync keeps all other keys', async () => {
    const [row] = await sql<{ patched: object }>(`SELECT patch_sync($1, $2) AS patched`, [
      { team: 'a', sync: { cursor: { since: 1 }, vendor_key: [1], last_jitter_seconds: 3 } },
      { last_jitter_seconds: 9 },
    ]);
    expect(row?.patched).toEqual({
      team: 'a',
      sync: { cursor: { since: 1 }, vendor_key: [1], last_jitter_seconds: 9 },
    });
  });

  it.each([
    ['null', null],
    ['42', 42],
    ['"text"', 'text'],
    ['[1]', [1]],
    ['{"sync": 42}', { sync: 42 }],
    ['{"sync": [1]}', { sync: [1] }],
    ['{}', {}],
  ])('DB-3: patch_sync creates the sync object in metadata %s', async (_name, metadata) => {
    const [row] = await sql<{ patched: { sync: object } }>('SELECT patch_sync($1::jsonb, $2) AS patched', [
      JSON.stringify(metadata),
      { a: 1 },
    ]);
    expect(row?.patched.sync).toEqual({ a: 1 });
  });
});

describe('SCH-8: the connection stores when its last incremental job ended', () => {
  const lastOf = async (id: string) => {
    const [row] = await sql<{ last: Date | null; waits: boolean }>(
      'SELECT last_incremental_ended_at AS last, waits_for_job AS waits FROM connections WHERE id = $1',
      [id],
    );
    return { last: row?.last?.toISOString(), waits: row?.waits };
  };
  const queue = async (id: string, type = 'incremental') => {
    const jobId = randomUUID();
    await sql(
      `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type) VALUES ($1, $2, 'github', $3, $4)`,
      [jobId, tenant, id, type],
    );
    return jobId;
  };
  const wait = (id: string) => sql('UPDATE connections SET waits_for_job = true WHERE id = $1', [id]);

  it.each(['succeeded', 'completed', 'failed', 'cancelled'])(
    'SCH-8: a job that another writer sets to %s counts',
    async (status) => {
      const id = await connect();
      const job = await queue(id);
      await wait(id);
      await sql(`UPDATE sync_jobs SET status = $2, finished_at = '2025-01-01T12:00:00Z' WHERE id = $1`, [
        job,
        status,
      ]);
      expect(await lastOf(id)).toEqual({ last: '2025-01-01T12:00:00.000Z', waits: false });
    },
  );

  it('SCH-8: a job ended without finished_at counts from its last change', async () => {
    const id = await connect();
    const job = await queue(id);
    await sql(
      `UPDATE sync_jobs SET status = 'completed', updated_at = '2025-01-01T12:30:00Z' WHERE id = $1`,
      [job],
    );
    expect(await lastOf(id)).toMatchObject({ last: '2025-01-01T12:30:00.000Z' });
  });

  it('SCH-8: jobs inserted as history count, the latest of them', async () => {
    const id = await connect();
    for (const time of ['11:00', '13:00', '12:00']) await database.ended(id, `2025-01-01T${time}:00Z`);
    expect(await lastOf(id)).toMatchObject({ last: '2025-01-01T13:00:00.000Z' });
  });

  it('SCH-8: deleting all jobs does not lose it', async () => {
    const id = await connect();
    await database.ended(id, '2025-01-01T12:00:00Z');
    await sql('DELETE FROM sync_jobs WHERE connection_id = $1', [id]);
    expect(await lastOf(id)).toMatchObject({ last: '2025-01-01T12:00:00.000Z' });
  });

  it('SCH-8: full and webhook jobs do not count', async () => {
    const id = await connect();
    const job = await queue(id, 'full');
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = now() WHERE id = $1`, [job]);
    expect(await lastOf(id)).toMatchObject({ last: undefined });
  });

  it('SCH-8: an end at infinity is ignored', async () => {
    const id = await connect();
    const job = await queue(id);
    await wait(id);
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = 'infinity' WHERE id = $1`, [job]);
    expect(await lastOf(id)).toEqual({ last: undefined, waits: false });
  });

  it.each([
    ['deleted', `DELETE FROM sync_jobs WHERE id = $1`],
    ['changed to another type', `UPDATE sync_jobs SET job_type = 'full' WHERE id = $1`],
    ['truncated', `TRUNCATE sync_jobs -- $1`],
  ])('SCH-7: a connection no longer waits for a job that was %s', async (_how, statement) => {
    const id = await connect();
    await database.ended(id, '2025-01-01T12:00:00Z');
    const job = await queue(id);
    await wait(id);
    await sql(statement, statement.startsWith('TRUNCATE') ? [] : [job]);
    expect(await lastOf(id)).toEqual({ last: '2025-01-01T12:00:00.000Z', waits: false });
  });

  it('SCH-7: a connection keeps waiting while its job runs', async () => {
    const id = await connect();
    const job = await queue(id);
    await wait(id);
    await sql(`UPDATE sync_jobs SET status = 'running' WHERE id = $1`, [job]);
    expect(await lastOf(id)).toMatchObject({ waits: true });
  });
});
