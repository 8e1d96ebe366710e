import pg from 'pg';
import { createSyncline } from '../../src/index.ts';
import { wakeChannel } from '../../src/store/wake.ts';
import { forgetHistory, keepHistory } from '../checker/history.ts';
import { type Account, providers } from './fake-provider.ts';
import { deadlockMs, type Observer, openObserver } from './observer-session.ts';
import { sessionUseSetting } from './session-pool.ts';

export interface SimulatedDatabase {
  url: string;
  observer: Observer;
  begin(
    accounts: readonly Account[],
    createdAt: Date,
    intervals: readonly (number | undefined)[],
    schedules: readonly (object | undefined)[],
  ): Promise<void>;
  close(): Promise<void>;
}

const tenant = '00000000-0000-4000-8000-0000000000ff';

/** The database must be empty, or migrated already. */
export async function openSimulatedDatabase(url: string): Promise<SimulatedDatabase> {
  await prepare(url);
  const observer = await openObserver(url, wakeChannel('syncline'));
  const { sql } = observer;
  await keepHistory(sql);
  // Sessions are reused here; the history must still distinguish their users.
  await sql(
    `ALTER TABLE syncline_history.versions ALTER COLUMN session
       SET DEFAULT pg_backend_pid() || ' ' || coalesce(current_setting('${sessionUseSetting}', true), '')`,
  );
  await sql('INSERT INTO tenants (id) VALUES ($1) ON CONFLICT DO NOTHING', [tenant]);
  await sql('INSERT INTO providers (slug) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [providers]);
  // Vacuum frees space for other rows, which changes the order of unordered results.
  const tables = await sql<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname LIKE 'syncline%'`,
  );
  for (const { name } of tables) await sql(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
  return {
    url,
    observer,
    begin: async (accounts, createdAt, intervals, schedules) => {
      // TRUNCATE instead of DELETE, so that every simulation stores its rows in the same place.
      await sql(
        `TRUNCATE connections, sync_jobs, signals, processes, events, rollups, schedulers, feed RESTART IDENTITY CASCADE`,
      );
      await sql(
        `INSERT INTO connections (id, tenant_id, provider_slug, external_id, created_at, updated_at, schedule, metadata)
         SELECT id, $1, provider, name, $2, $2, schedule, CASE WHEN seconds IS NULL THEN '{}'::jsonb
           ELSE jsonb_build_object('sync', jsonb_build_object('interval_seconds', seconds)) END
         FROM unnest($3::uuid[], $4::text[], $5::text[], $6::int[], $7::jsonb[])
           AS c (id, provider, name, seconds, schedule)`,
        [
          tenant,
          createdAt,
          accounts.map(({ connectionId }) => connectionId),
          accounts.map(({ kind }) => kind),
          accounts.map(({ name }) => name),
          intervals,
          schedules.map((schedule) => schedule && JSON.stringify(schedule)),
        ],
      );
      await forgetHistory(sql);
    },
    close: () => observer.close(),
  };
}

async function prepare(url: string): Promise<void> {
  const syncline = createSyncline({ database: url, log: { level: 'silent' } });
  await syncline.migrate();
  await syncline.stop();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  // Deadlocks must be reported immediately: real time must not influence the simulation.
  const name = pg.escapeIdentifier(rows[0]?.name ?? '');
  await client.query(`ALTER DATABASE ${name} SET deadlock_timeout = '${deadlockMs}ms'`);
  // The server never crashes here, so commits need not wait for the disk.
  await client.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  await client.end();
}
