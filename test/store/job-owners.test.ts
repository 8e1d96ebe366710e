import { beforeEach, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const missing = '00000000-0000-4000-8000-00000000dead';

const insertSignal = (connectionId: string) =>
  sql(
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     VALUES ($1, 'github', $2, 'k', now(), '{}')`,
    [tenant, connectionId],
  );

const left = async () => {
  const [row] = await sql<Record<string, number>>(
    `SELECT (SELECT count(*)::int FROM sync_jobs) AS jobs, (SELECT count(*)::int FROM signals) AS signals,
       (SELECT count(*)::int FROM attempts) AS attempts`,
  );
  return row;
};

const aSessionWaits = () =>
  until('a session waits for a lock', async () => {
    const waiting = await sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  });

/** Jobs of every status, with an attempt each, and two signals. */
async function filled(): Promise<string> {
  const id = await database.connect();
  for (const status of ['succeeded', 'failed', 'cancelled', 'completed', 'running'])
    await database.job(id, { status });
  await database.job(id, { job_type: 'full' });
  await sql(
    `INSERT INTO attempts (job_id, claim_id, outcome, started_at, ended_at)
     SELECT id, id, 'failed', now(), now() FROM sync_jobs WHERE connection_id = $1`,
    [id],
  );
  await insertSignal(id);
  await insertSignal(id);
  return id;
}

describe('DB-1: jobs and signals belong to a connection', () => {
  it('DB-1: deleting a connection deletes its jobs of every status, their attempts and its signals', async () => {
    const kept = await filled();
    const gone = await filled();
    await sql('DELETE FROM connections WHERE id = $1', [gone]);
    expect(await left()).toEqual({ jobs: 6, signals: 2, attempts: 6 });
    expect(await sql('SELECT DISTINCT connection_id FROM sync_jobs')).toEqual([{ connection_id: kept }]);
    expect(await sql('SELECT DISTINCT connection_id FROM signals')).toEqual([{ connection_id: kept }]);
  });

  it('DB-1: TRUNCATE of connections empties jobs and signals, also in one statement with them', async () => {
    await filled();
    await sql('TRUNCATE connections CASCADE');
    expect(await left()).toEqual({ jobs: 0, signals: 0, attempts: 0 });
    await filled();
    await sql('TRUNCATE connections, signals, sync_jobs CASCADE');
    expect(await left()).toEqual({ jobs: 0, signals: 0, attempts: 0 });
  });

  it('DB-1: a job or signal of a missing connection is rejected like by a foreign key', async () => {
    const id = await database.connect();
    await database.job(id);
    await insertSignal(id);
    const rejection = (table: string) => ({
      code: '23503',
      schema: 'syncline',
      table,
      constraint: `${table}_connection_id_fkey`,
      detail: `Key (connection_id)=(${missing}) is not present in table "connections".`,
    });
    await expect(database.job(missing)).rejects.toMatchObject(rejection('sync_jobs'));
    await expect(insertSignal(missing)).rejects.toMatchObject(rejection('signals'));
    for (const table of ['sync_jobs', 'signals'])
      await expect(sql(`UPDATE ${table} SET connection_id = $1`, [missing])).rejects.toMatchObject(
        rejection(table),
      );
  });

  it('DB-1: the id of a connection with jobs or signals cannot change', async () => {
    const change = (id: string) => sql('UPDATE connections SET id = $2 WHERE id = $1', [id, missing]);
    const ended = await database.connect();
    await database.ended(ended, '2025-01-01T00:00:00Z');
    await expect(change(ended)).rejects.toMatchObject({
      code: '23503',
      constraint: 'sync_jobs_connection_id_fkey',
    });
    const signalled = await database.connect();
    await insertSignal(signalled);
    await expect(change(signalled)).rejects.toMatchObject({
      code: '23503',
      constraint: 'signals_connection_id_fkey',
    });
    await change(await database.connect());
  });

  it.each(['sync_jobs', 'signals'])(
    'DB-1: a concurrent insert into %s and the deletion of its connection leave no orphan',
    async (table) => {
      const insert = (id: string) =>
        table === 'signals'
          ? `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
             VALUES ('${tenant}', 'github', '${id}', 'k', now(), '{}')`
          : `INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type)
             VALUES ('${tenant}', 'github', '${id}', 'full')`;
      const writer = await database.session();
      const inserted = await database.connect();
      await writer.query(`BEGIN; ${insert(inserted)}`);
      const deletion = sql('DELETE FROM connections WHERE id = $1', [inserted]);
      await aSessionWaits();
      await writer.query('COMMIT');
      await deletion;
      expect(await left()).toMatchObject({ jobs: 0, signals: 0 });

      const deleted = await database.connect();
      await writer.query(`BEGIN; DELETE FROM syncline.connections WHERE id = '${deleted}'`);
      const insertion = sql(insert(deleted)).catch((error: unknown) => error);
      await aSessionWaits();
      await writer.query('COMMIT');
      expect(await insertion).toMatchObject({ code: '23503' });
      expect(await left()).toMatchObject({ jobs: 0, signals: 0 });
    },
  );

  it('DB-1: a role cannot use the trigger functions on its own table', async () => {
    await filled();
    await sql(`CREATE TABLE public.mine (id uuid, connection_id uuid);
      INSERT INTO public.mine SELECT id, id FROM connections;
      CREATE TRIGGER t AFTER DELETE ON public.mine FOR EACH ROW EXECUTE FUNCTION delete_owned();
      CREATE TRIGGER u AFTER UPDATE ON public.mine FOR EACH ROW EXECUTE FUNCTION require_connection()`);
    for (const text of ['DELETE FROM public.mine', 'UPDATE public.mine SET id = id'])
      await expect(sql(text)).rejects.toMatchObject({ code: '42501' });
    expect(await left()).toEqual({ jobs: 6, signals: 2, attempts: 6 });
    await sql('DROP TABLE public.mine');
  });
});
