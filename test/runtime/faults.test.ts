import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, freePort, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { createSyncline } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { silent, tenant, useDatabase } from '../support/database.ts';
import { startCli } from '../support/process.ts';
import { restartPostgres } from '../support/restart.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';

type Sql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

const insertConnections = (n: number) =>
  `INSERT INTO syncline.connections (tenant_id, provider_slug) SELECT '${tenant}', 'github' FROM generate_series(1, ${n})`;

async function count(sql: Sql, what: string): Promise<number> {
  const [row] = await sql(`SELECT count(*)::int AS n FROM ${what}`);
  return row?.['n'] as number;
}

/** Connections that have a job without metadata, or metadata without a job. */
const countInconsistent = (sql: Sql) =>
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

  it('SCH-1: a kill between the jobs and the metadata of a batch leaves neither', async () => {
    await sql(insertConnections(1000));
    const holder = await database.session();
    // SHARE mode allows row locks and the job inserts, but blocks UPDATEs of connections.
    await holder.query('BEGIN; LOCK TABLE syncline.connections IN SHARE MODE');
    const tick = startTick();
    const waiting = `pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await tick.until('it waits for the lock', async () => (await count(sql, waiting)) > 0);
    tick.process.kill('SIGKILL');
    expect((await tick.finished).signal).toBe('SIGKILL');
    await holder.end();
    const sessions = `pg_stat_activity WHERE application_name = 'syncline' AND datname = current_database()`;
    await until('the sessions have ended', async () => (await count(sql, sessions)) === 0);
    expect(await count(sql, 'syncline.sync_jobs')).toBe(0);
    expect(await countInconsistent(sql)).toBe(0);
  });

  it('SCH-1: after repeated kills, jobs and metadata agree, and every job is placed once', async () => {
    const total = sized(30_000, 15_000);
    await sql(insertConnections(total));
    for (let killed = 0; killed < sized(5, 3); killed++) {
      const goal = (await count(sql, 'syncline.sync_jobs')) + 500;
      const tick = startTick();
      await tick.until(`${goal} jobs`, async () => (await count(sql, 'syncline.sync_jobs')) >= goal);
      tick.process.kill('SIGKILL');
      expect((await tick.finished).signal).toBe('SIGKILL');
      expect(await countInconsistent(sql)).toBe(0);
    }
    expect((await startTick().finished).code).toBe(0);
    expect(await count(sql, 'syncline.sync_jobs')).toBe(total);
    expect(await countInconsistent(sql)).toBe(0);
  });
});

describe('Postgres crashes and restarts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'syncline-crash-'));
  let server: EmbeddedPostgres;
  /** Starts Postgres; returns a function that restarts it on the same folder and port. */
  const start = async () => {
    server = await startEmbeddedPostgres({ ports: systemPorts, folder, keep: true });
    const port = Number(new URL(server.url).port);
    return async () => {
      server = await restartPostgres(() =>
        startEmbeddedPostgres({ ports: systemPorts, folder, keep: true, port }),
      );
    };
  };
  afterEach(() => server?.stop());
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('SCH-1: after a crash of Postgres, the scheduler resumes and places every job once', async () => {
    const restart = await start();
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
    await service.output(/scheduler failed: .*retrying in/);
    // Suspend it until the state after the crash has been checked.
    service.process.kill('SIGSTOP');
    await restart();
    client = await connectTo(server.url);
    expect(await countInconsistent(sql)).toBe(0);
    expect(await count(sql, 'syncline.sync_jobs')).toBeLessThan(total);
    service.process.kill('SIGCONT');
    await service.until('every job', async () => (await count(sql, 'syncline.sync_jobs')) === total);
    expect(await countInconsistent(sql)).toBe(0);
    await client.end();
    service.process.kill('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });

  it('SCH-1: an engine started before its database logs retries and starts when it is up', async () => {
    const restart = await start();
    const { url } = server;
    const syncline = createSyncline({ database: url, logger: silent });
    await syncline.migrate();
    await syncline.stop();
    await crash(server);
    const service = startCli(['start'], {
      env: { SYNCLINE_DATABASE_URL: url, SYNCLINE_METRICS_PORT: '0', SYNCLINE_SERVER_PORT: '0' },
    });
    await service.output(/cannot be reached \(ECONNREFUSED\).*Retrying in/);
    await restart();
    await service.output(/tick: nothing due/);
    service.process.kill('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });

  it('SCH-9: SIGTERM ends an engine that retries its database connection', async () => {
    const service = startCli(['start'], {
      env: {
        SYNCLINE_DATABASE_URL: `postgres://user@127.0.0.1:${await freePort()}/none`,
        SYNCLINE_METRICS_PORT: '0',
        SYNCLINE_SERVER_PORT: '0',
      },
    });
    await service.output(/Retrying in/);
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

/** Immediate shutdown: without a checkpoint, so Postgres recovers from WAL as after a power failure. */
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
