import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, freePort, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { createSyncline } from '../../src/index.ts';
import { silent, tenant, useDatabase } from '../support/database.ts';
import { startCli } from '../support/process.ts';
import { restarted } from '../support/restart.ts';
import { until } from '../support/until.ts';

type Sql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

const insertConnections = (n: number) =>
  `INSERT INTO syncline.connections (tenant_id, provider_slug) SELECT '${tenant}', 'github' FROM generate_series(1, ${n})`;

async function count(sql: Sql, what: string): Promise<number> {
  const [row] = await sql(`SELECT count(*)::int AS n FROM ${what}`);
  return row?.['n'] as number;
}

/** Connections that have a job without metadata, or metadata without a job. */
const torn = (sql: Sql) =>
  count(
    sql,
    `syncline.connections c LEFT JOIN syncline.sync_jobs j ON j.connection_id = c.id
     WHERE (j.id IS NULL) <> (c.metadata #>> '{sync,next_run_at}' IS NULL)`,
  );

describe('SCH-1: kill -9 in the middle of a tick', () => {
  const database = useDatabase();
  const { sql } = database;
  const env = { SYNCLINE_SCHEDULER_BATCH_SIZE: '200' };
  const startTick = () => startCli(['tick'], { env: { ...env, SYNCLINE_DATABASE_URL: database.url } });
  beforeEach(() => database.empty());

  it('SCH-1: between the jobs and the metadata of a batch: neither is there', async () => {
    await sql(insertConnections(1000));
    const holder = await database.session();
    // Lets rows be locked and jobs be inserted, but no connection be updated.
    await holder.query('BEGIN; LOCK TABLE syncline.connections IN SHARE MODE');
    const tick = startTick();
    const waiting = `pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await tick.until('it waits for the lock', async () => (await count(sql, waiting)) > 0);
    tick.process.kill('SIGKILL');
    expect((await tick.finished).signal).toBe('SIGKILL');
    await holder.end();
    const sessions = `pg_stat_activity WHERE application_name = 'syncline' AND datname = current_database()`;
    await until('Postgres has noticed', async () => (await count(sql, sessions)) === 0);
    expect(await count(sql, 'syncline.sync_jobs')).toBe(0);
    expect(await torn(sql)).toBe(0);
  });

  it('SCH-1: again and again: no job without its metadata, no metadata without its job, and in the end every job once', async () => {
    const total = 30_000;
    await sql(insertConnections(total));
    for (let killed = 0; killed < 5; killed++) {
      const goal = (await count(sql, 'syncline.sync_jobs')) + 500;
      const tick = startTick();
      await tick.until(`${goal} jobs`, async () => (await count(sql, 'syncline.sync_jobs')) >= goal);
      tick.process.kill('SIGKILL');
      expect((await tick.finished).signal).toBe('SIGKILL');
      expect(await torn(sql)).toBe(0);
    }
    expect((await startTick().finished).code).toBe(0);
    expect(await count(sql, 'syncline.sync_jobs')).toBe(total);
    expect(await torn(sql)).toBe(0);
  });
});

describe('Postgres restarted in the middle of a tick', () => {
  const folder = mkdtempSync(join(tmpdir(), 'syncline-crash-'));
  let server: EmbeddedPostgres;
  /** Starts it, and says how to start it again where it was. */
  const start = async () => {
    server = await startEmbeddedPostgres({ folder, keep: true });
    const port = Number(new URL(server.url).port);
    return async () => {
      server = await restarted(() => startEmbeddedPostgres({ folder, keep: true, port }));
    };
  };
  afterEach(() => server?.stop());
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('the scheduler goes on by itself, and places every job once', async () => {
    const startAgain = await start();
    const syncline = createSyncline({ database: server.url, logger: silent });
    await syncline.migrate();
    await syncline.stop();
    let client = await connectTo(server.url);
    const sql: Sql = async (text) => (await client.query(text)).rows;
    const total = 20_000;
    await sql(`INSERT INTO syncline.tenants (id) VALUES ('${tenant}')`);
    await sql(`INSERT INTO syncline.providers (slug) VALUES ('github')`);
    await sql(insertConnections(total));

    const service = startCli(['start', '--roles', 'scheduler'], {
      env: {
        SYNCLINE_DATABASE_URL: server.url,
        SYNCLINE_METRICS_PORT: '0',
        SYNCLINE_SCHEDULER_BATCH_SIZE: '100',
      },
    });
    await service.until('1000 jobs', async () => (await count(sql, 'syncline.sync_jobs')) >= 1000);
    await crash(server);
    await service.output(/scheduler failed: .*trying again in/);
    // It must not go on before what the crash left has been looked at.
    service.process.kill('SIGSTOP');
    await startAgain();
    client = await connectTo(server.url);
    expect(await torn(sql)).toBe(0);
    expect(await count(sql, 'syncline.sync_jobs')).toBeLessThan(total);
    service.process.kill('SIGCONT');
    await service.until('every job', async () => (await count(sql, 'syncline.sync_jobs')) === total);
    expect(await torn(sql)).toBe(0);
    await client.end();
    service.process.kill('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });

  it('an engine started before its database waits for it, and says so', async () => {
    const startAgain = await start();
    const { url } = server;
    const syncline = createSyncline({ database: url, logger: silent });
    await syncline.migrate();
    await syncline.stop();
    await crash(server);
    const service = startCli(['start'], {
      env: { SYNCLINE_DATABASE_URL: url, SYNCLINE_METRICS_PORT: '0', SYNCLINE_SERVER_PORT: '0' },
    });
    await service.output(/cannot be reached \(ECONNREFUSED\).*Trying again in/);
    await startAgain();
    await service.output(/tick: nothing due/);
    service.process.kill('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });

  it('an engine that waits for its database can be told to end', async () => {
    const service = startCli(['start'], {
      env: {
        SYNCLINE_DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
        SYNCLINE_METRICS_PORT: '0',
        SYNCLINE_SERVER_PORT: '0',
      },
    });
    await service.output(/Trying again in/);
    service.process.kill('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });
});

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** An immediate shutdown: Postgres stops without a checkpoint and must recover, as after a power cut. */
async function crash(server: EmbeddedPostgres): Promise<void> {
  process.kill(server.pid, 'SIGQUIT');
  await until('Postgres has ended', () => !isAlive(server.pid));
  await server.stop();
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
