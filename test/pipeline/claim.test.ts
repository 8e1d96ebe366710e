import { beforeEach, describe, expect, it } from 'vitest';
import type { Ports } from '../../src/platform/ports.ts';
import { testPorts } from '../support/clock.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

/** An engine at noon, with concurrency 1, whose connectors record the jobs they run. */
function recordingEngine(providers = ['github'], more: Partial<Ports> = {}) {
  const ran: string[] = [];
  const connectors = providers.map((provider) =>
    connector(({ job }) => {
      ran.push(job.id);
      return { signals: [] };
    }, provider),
  );
  const { log, lines } = recordingLogger('warn');
  const ports = testPorts();
  const engine = database.engine({
    ...{ ports: { ...ports, ...more }, connectors, logger: log, executor: { concurrency: 1 } },
  });
  return { engine, ran, lines, ports };
}

/** Every scan takes 60 ms. */
function slowClock(): Pick<Ports, 'monotonicMs'> {
  let ms = 0;
  return { monotonicMs: () => (ms += 60) };
}

async function addProvider(slug: string): Promise<void> {
  await sql('INSERT INTO providers (slug) VALUES ($1) ON CONFLICT DO NOTHING', [slug]);
}

async function connectTo(slug: string): Promise<string> {
  await addProvider(slug);
  const [row] = await sql<{ id: string }>(
    'INSERT INTO connections (tenant_id, provider_slug) VALUES ($1, $2) RETURNING id',
    [tenant, slug],
  );
  return (row as { id: string }).id;
}

describe('EXE-1: due jobs', () => {
  it('EXE-1: runs queued jobs whose time has come, of active connections, and no others', async () => {
    const due = await job(await connect(), { scheduled_at: '2025-01-01T12:00:00Z' });
    await job(await connect(), { scheduled_at: '2025-01-01T12:00:00.001Z' });
    const retried = await job(await connect(), { retry_after: '2025-01-01T12:00:00Z', attempts: 3 });
    await job(await connect(), { retry_after: '2025-01-01T12:00:00.001Z' });
    for (const status of ['paused', 'needs_auth', 'disabled']) await job(await connect({ status }));
    for (const status of ['succeeded', 'failed', 'cancelled', 'completed'])
      await job(await connect(), { status });
    const { engine, ran } = recordingEngine();
    await engine.drain();
    expect(ran.toSorted()).toEqual([due, retried].toSorted());
  });

  it('EXE-1: a job that backs off runs when its retry_after has passed', async () => {
    const id = await job(await connect(), { retry_after: '2025-01-01T12:30:00Z' });
    const { engine, ran, ports } = recordingEngine();
    await engine.drain();
    expect(ran).toEqual([]);
    ports.set('2025-01-01T12:30:00Z');
    await engine.drain();
    expect(ran).toEqual([id]);
  });

  it('EXE-1: a connection paused by SQL runs nothing until it is active again', async () => {
    const connection = await connect();
    const id = await job(connection);
    const { engine, ran } = recordingEngine();
    await sql(`UPDATE connections SET status = 'paused'`);
    await engine.drain();
    expect(ran).toEqual([]);
    await sql(`UPDATE connections SET status = 'active'`);
    await engine.drain();
    expect(ran).toEqual([id]);
  });

  it('EXE-1: a job queued while its connection was paused runs when it is resumed', async () => {
    const connection = await connect({ status: 'paused' });
    const id = await job(connection);
    const { engine, ran } = recordingEngine();
    await engine.connections.resume(connection);
    await engine.drain();
    expect(ran).toEqual([id]);
  });

  it('EXE-1: a claim marks jobs as blocked if their connection is paused or busy', async () => {
    const session = await database.session();
    await session.query('SET session_replication_role = replica; SET search_path TO syncline');
    const [paused, busy, free] = [await connect(), await connect(), await connect()];
    await job(busy, { job_type: 'full', status: 'running' });
    await session.query(`UPDATE connections SET status = 'paused' WHERE id = $1`, [paused]);
    const insert = `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
      VALUES ($1, 'github', $2, 'incremental', '2024-01-01')`;
    for (const connection of [paused, busy]) await session.query(insert, [tenant, connection]);
    const id = await job(free);
    const { engine, ran } = recordingEngine();
    await engine.drain();
    expect(ran).toEqual([id]);
    expect(await sql('SELECT FROM sync_jobs WHERE blocked')).toHaveLength(2);
  });
});

describe('EXE-2: order', () => {
  it('EXE-2: claims take the highest priority first, then the earliest scheduled_at', async () => {
    const columnsOf = [
      { priority: 0, scheduled_at: '2025-01-01T11:00:00Z' },
      { priority: 5, scheduled_at: '2025-01-01T11:30:00Z' },
      { priority: 5, scheduled_at: '2025-01-01T11:20:00Z' },
      { priority: -3, scheduled_at: '2025-01-01T08:00:00Z' },
      { priority: 0, scheduled_at: '2025-01-01T10:00:00Z' },
      { priority: 32767, scheduled_at: '2025-01-01T11:59:00Z' },
    ];
    const ids: string[] = [];
    for (const columns of columnsOf) ids.push(await job(await connect(), columns));
    const { engine, ran } = recordingEngine();
    await engine.drain();
    expect(ran.map((id) => ids.indexOf(id))).toEqual([5, 2, 1, 4, 0, 3]);
  });

  it('EXE-2: the order holds across providers', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) {
      const connection = await connectTo(['slack', 'notion', 'jira'][i % 3] as string);
      const scheduled_at = `2025-01-01T${String(11 - ((i * 5) % 12)).padStart(2, '0')}:00:00Z`;
      const [row] = await sql<{ id: string }>(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at, priority)
         SELECT tenant_id, provider_slug, id, 'incremental', $2, $3 FROM connections WHERE id = $1 RETURNING id`,
        [connection, scheduled_at, i % 2],
      );
      ids.push((row as { id: string }).id);
    }
    const { engine, ran } = recordingEngine(['slack', 'notion', 'jira']);
    await engine.drain();
    const expected = await sql<{ id: string }>(
      'SELECT id FROM sync_jobs ORDER BY priority DESC, scheduled_at',
    );
    expect(ran).toEqual(expected.map((row) => row.id));
  });

  it('EXE-2: the order holds across providers and priorities also after a slow scan', async () => {
    const expected: string[] = [];
    for (const priority of [5, 0])
      for (const second of [1, 2, 3])
        for (const slug of ['github', 'slack'])
          expected.push(
            await job(await connectTo(slug), {
              ...{ provider_slug: slug, priority },
              scheduled_at: `2025-01-01T10:00:0${second}.${slug === 'slack' ? 5 : 0}Z`,
            }),
          );
    const { engine, ran } = recordingEngine(['github', 'slack'], slowClock());
    await engine.drain();
    expect(ran).toEqual(expected);
  });

  it('EXE-2: infinite timestamps sort first and last', async () => {
    const soon = await job(await connect(), { scheduled_at: '1999-01-01' });
    const first = await job(await connect(), { scheduled_at: '-infinity' });
    await job(await connect(), { scheduled_at: 'infinity' });
    await job(await connect(), { retry_after: 'infinity' });
    const again = await job(await connect(), { retry_after: '-infinity', scheduled_at: '2000-01-01' });
    const { engine, ran } = recordingEngine();
    await engine.drain();
    expect(ran).toEqual([first, soon, again]);
    const [row] = await sql<{ connection_id: string }>(
      `SELECT connection_id FROM sync_jobs WHERE scheduled_at = 'infinity'`,
    );
    expect((await engine.connections.explain(row?.connection_id as string)).state).toBe('scheduled');
  });

  it('EXE-2: 2,500 ended backoffs compete by priority, then scheduled_at', async () => {
    const last = '2025-01-01T11:59:59Z';
    await sql(
      `WITH c AS (INSERT INTO connections (tenant_id, provider_slug) SELECT $1, 'github' FROM generate_series(1, 2500) RETURNING id)
       INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at, retry_after)
       SELECT $1, 'github', id, 'incremental', '2025-01-01T08:00:00Z', '2025-01-01T09:00:00Z' FROM c`,
      [tenant],
    );
    const ready = await job(await connect(), { scheduled_at: '2025-01-01T07:59:00Z' });
    const earliest = await job(await connect(), { scheduled_at: '2025-01-01T07:00:00Z', retry_after: last });
    const highest = await job(await connect(), {
      priority: 9,
      scheduled_at: '2025-01-01T11:00:00Z',
      retry_after: last,
    });
    const { engine, ran } = recordingEngine();
    await engine.start({ roles: ['executor'] });
    await until('three have run', async () => ran.length >= 3);
    await engine.stop();
    expect(ran.slice(0, 3)).toEqual([highest, earliest, ready]);
  });

  it('EXE-2: a notified executor knows of backoffs that ended since its last look', async () => {
    const { engine, ran } = recordingEngine();
    await engine.start({ roles: ['executor'] });
    const expected: string[] = [];
    for (let round = 1; round <= 5; round++) {
      const [low, high] = [await connect(), await connect()];
      const insert = (id: string, columns: string, values: string) =>
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at${columns})
         VALUES ('${tenant}', 'github', '${id}', 'incremental', '2025-01-01T11:00:00Z'${values});`;
      // One transaction.
      await sql(
        insert(low, '', '') +
          insert(high, ', priority, retry_after', `, 9, '2025-01-01T11:59:00Z'`) +
          `SELECT wake_executors('jobs')`,
      );
      await until('both have run', async () => ran.length === 2 * round);
      const [first, second] = await sql<{ id: string }>(
        'SELECT id FROM sync_jobs WHERE connection_id = ANY ($1) ORDER BY priority DESC',
        [[low, high]],
      );
      expected.push(first?.id as string, second?.id as string);
    }
    expect(ran).toEqual(expected);
  });

  it.each([
    ['the scan', /SKIP LOCKED\) locked/],
    ['the update of ended backoffs', /SET retry_after = NULL/],
  ])('EXE-2: jobs committed during a claim, after %s, run in order', async (_statement, pattern) => {
    const ids: string[] = [];
    const { engine, ran } = recordingEngine(['github'], {
      query: async (statement, send) => {
        const result = await send();
        if (pattern.test(statement) && ids.length === 0)
          ids.push(
            await job(await connect(), { priority: 9, retry_after: '2025-01-01T11:59:00Z' }),
            await job(await connect()),
          );
        return result;
      },
    });
    await engine.drain();
    expect(ran).toHaveLength(2);
    expect(ran).toEqual(ids);
  });

  it('EXE-2: a retried job is ordered by scheduled_at, not by retry_after', async () => {
    const later = await job(await connect(), { scheduled_at: '2025-01-01T09:00:00Z' });
    const retried = await job(await connect(), {
      scheduled_at: '2025-01-01T08:00:00Z',
      retry_after: '2025-01-01T11:59:00Z',
      attempts: 2,
    });
    const { engine, ran } = recordingEngine();
    await engine.drain();
    expect(ran).toEqual([retried, later]);
  });
});

describe('EXE-3: single flight', () => {
  it('EXE-3: a running job blocks only other jobs of its connection', async () => {
    const [busy, free] = [await connect(), await connect()];
    const blocked = await job(busy, { scheduled_at: '2024-01-01T00:00:00Z' });
    const running = await job(busy, { job_type: 'full', status: 'running' });
    const other = await job(free);
    const { engine, ran } = recordingEngine();
    await engine.drain();
    expect(ran).toEqual([other]);
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = now() WHERE id = $1`, [running]);
    await engine.drain();
    expect(ran).toEqual([other, blocked]);
  });

  it.each(['DELETE FROM sync_jobs WHERE id = $1', `UPDATE sync_jobs SET status = 'cancelled' WHERE id = $1`])(
    'EXE-3: a blocked job becomes claimable after: %s',
    async (statement) => {
      const connection = await connect();
      const running = await job(connection, { job_type: 'full', status: 'running' });
      const blocked = await job(connection);
      await sql(statement, [running]);
      const { engine, ran } = recordingEngine();
      await engine.drain();
      expect(ran).toEqual([blocked]);
    },
  );

  it('EXE-3: two jobs of one connection in one batch run in sequence, by priority', async () => {
    const connection = await connect();
    const full = await job(connection, { job_type: 'full', priority: 1 });
    const incremental = await job(connection);
    const order: string[] = [];
    let running = 0;
    const sync = connector(async ({ job: { id } }) => {
      order.push(id);
      expect(++running).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
      return { signals: [] };
    });
    await database.engine({ connectors: [sync] }).drain();
    expect(order).toEqual([full, incremental]);
  });

  it('EXE-3: a unique index rejects a second running job of a connection', async () => {
    const connection = await connect();
    await job(connection, { job_type: 'full', status: 'running' });
    await expect(job(connection, { status: 'running' })).rejects.toThrow(/idx_sync_jobs_running/);
  });
});

describe('providers without a connector', () => {
  it('EXE-1: their jobs stay queued, are logged once, and block no other job', async () => {
    const elsewhere = await connectTo('linear');
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at, priority)
       VALUES ($1, 'linear', $2, 'incremental', '2024-01-01', 9)`,
      [tenant, elsewhere],
    );
    const here = await job(await connect());
    const { engine, ran, lines } = recordingEngine();
    await engine.drain();
    expect(ran).toEqual([here]);
    expect(await sql(`SELECT status, attempts FROM sync_jobs WHERE provider_slug = 'linear'`)).toEqual([
      { status: 'queued', attempts: 0 },
    ]);
    const reports = lines.filter(({ msg }) => msg.includes('providers without a connector in this process'));
    expect(reports).toEqual([expect.objectContaining({ providers: ['linear'] })]);
  });

  it('EXE-1: a process without connectors logs the waiting providers and drains immediately', async () => {
    await job(await connect());
    const { engine, lines } = recordingEngine([]);
    expect(await engine.drain()).toMatchObject({ claimed: 0 });
    expect(lines).toEqual([expect.objectContaining({ providers: ['github'] })]);
  });
});
