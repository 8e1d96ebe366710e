import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { UnauthorizedError } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { testPorts } from '../support/clock.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, job, connect } = database;
const other = randomUUID();

beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM rollups');
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'Other') ON CONFLICT DO NOTHING`, [other]);
  await sql(`INSERT INTO providers (slug) VALUES ('slack') ON CONFLICT DO NOTHING`);
});

/** An engine whose connectors record their calls and return two pages. */
function recordingEngine(providers: string[], duringRun = async (_connectionId: string) => {}) {
  const ran: { called: string; connection: string; job: string }[] = [];
  const connectors = providers.map((called) =>
    connector(async ({ connection, job: { id }, cursor }) => {
      ran.push({ called, connection: connection.provider, job: id });
      await duringRun(connection.id);
      const isFirst = cursor === undefined;
      return {
        signals: [{ kind: 'seen', occurredAt: '2025-01-01T10:00:00Z', payload: { isFirst } }],
        nextCursor: isFirst ? 1 : 2,
        hasMore: isFirst,
      };
    }, called),
  );
  const { log, lines } = recordingLogger('warn');
  const engine = database.engine({ ports: testPorts(), connectors, logger: log });
  return { engine, ran, lines };
}

const warnings = (lines: object[]) => lines.filter((line) => 'job_id' in line);

const owners = () =>
  sql(
    `SELECT DISTINCT tenant_id, provider_slug FROM (
       SELECT tenant_id, provider_slug FROM sync_jobs UNION SELECT tenant_id, provider_slug FROM signals
       UNION SELECT tenant_id, provider_slug FROM rollups WHERE tenant_id <> '00000000-0000-0000-0000-000000000000') written`,
  );

describe('EXE-13: a job row whose tenant or provider differs from its connection', () => {
  it('EXE-13: a job with a foreign tenant_id stores signals for the tenant of its connection', async () => {
    const id = await job(await connect(), { tenant_id: other });
    const { engine, ran, lines } = recordingEngine(['github']);
    await engine.drain();
    expect(ran.map(({ called }) => called)).toEqual(['github', 'github']);
    expect(await owners()).toEqual([{ tenant_id: tenant, provider_slug: 'github' }]);
    expect(await sql('SELECT FROM signals')).toHaveLength(2);
    expect(warnings(lines)).toEqual([
      expect.objectContaining({ job_id: id, tenant_id: other, msg: expect.stringContaining(other) }),
    ]);
  });

  it('EXE-13: a job with a foreign provider_slug runs the connector of its connection', async () => {
    await job(await connect(), { provider_slug: 'slack' });
    const { engine, ran, lines } = recordingEngine(['github', 'slack']);
    await engine.drain();
    expect(ran.map(({ called }) => called)).toEqual(['github', 'github']);
    expect(await owners()).toEqual([{ tenant_id: tenant, provider_slug: 'github' }]);
    expect(warnings(lines)).toHaveLength(1);
  });

  it("EXE-13: a process without the connection's connector corrects and requeues the job", async () => {
    await job(await connect(), { provider_slug: 'slack', tenant_id: other });
    const slack = recordingEngine(['slack']);
    await slack.engine.drain();
    expect(slack.ran).toEqual([]);
    expect(warnings(slack.lines)).toHaveLength(1);
    expect(await sql('SELECT tenant_id, provider_slug, status, blocked FROM sync_jobs')).toEqual([
      { tenant_id: tenant, provider_slug: 'github', status: 'queued', blocked: false },
    ]);
    const github = recordingEngine(['github']);
    await github.engine.drain();
    expect(github.ran).toHaveLength(2);
  });

  it.each([
    ['', {}],
    [' after its backoff', { retry_after: '2024-12-01T00:00:00Z' }],
  ])('EXE-13: a job with an unknown provider_slug is corrected and run%s', async (_, columns) => {
    await job(await connect(), { provider_slug: 'gihtub', ...columns });
    const { engine, ran, lines } = recordingEngine(['github']);
    await engine.drain();
    expect(ran).toHaveLength(2);
    expect(warnings(lines)).toHaveLength(1);
  });

  it('EXE-13: the tenant named by such a job cannot read, cancel or retry it', async () => {
    const id = await job(await connect(), { tenant_id: other, status: 'failed', finished_at: new Date() });
    const { engine } = recordingEngine(['github']);
    const view = engine.as({ tenantId: other, actor: 'other' });
    expect((await view.jobs.list()).items).toEqual([]);
    for (const attempt of [view.jobs.get, view.jobs.cancel, view.jobs.retry])
      await expect(attempt(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('EXE-13: the retry of such a job and its event belong to the tenant of the connection', async () => {
    const id = await job(await connect(), { tenant_id: other, status: 'failed', finished_at: new Date() });
    const { engine } = recordingEngine(['github']);
    const retried = await engine.jobs.retry(id);
    expect(retried).toMatchObject({ tenantId: tenant, provider: 'github' });
    expect(await sql(`SELECT tenant_id FROM events WHERE kind = 'job.retried'`)).toEqual([
      { tenant_id: tenant },
    ]);
  });

  it('EXE-13: a trigger takes over a queued job and corrects it', async () => {
    const connection = await connect();
    await job(connection, { tenant_id: other, scheduled_at: '2025-06-01T00:00:00Z' });
    const { engine } = recordingEngine(['github']);
    await engine.as({ tenantId: tenant, actor: 'owner' }).connections.trigger(connection);
    expect(await owners()).toEqual([{ tenant_id: tenant, provider_slug: 'github' }]);
  });

  it('EXE-13: doctor reports such jobs', async () => {
    const id = await job(await connect(), { tenant_id: other });
    await job(await connect());
    const { engine } = recordingEngine(['github']);
    const { checks } = await engine.doctor();
    const check = checks.find(({ name }) => name === 'job ownership');
    expect(check?.findings).toEqual([
      expect.objectContaining({ severity: 'warning', message: expect.stringContaining(id) }),
    ]);
  });
});

describe('EXE-13: jobs of a provider without a connector', () => {
  it('EXE-13: a foreign job behind 10,001 others is corrected, also after the scan has passed it', async () => {
    const foreign = { provider_slug: 'slack', scheduled_at: '2100-01-01T00:00:00Z' };
    const first = await job(await connect(), { ...foreign, status: 'succeeded' });
    await sql(
      `WITH c AS (INSERT INTO connections (tenant_id, provider_slug) SELECT $1, 'slack' FROM generate_series(1, 10001) RETURNING *)
       INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
       SELECT tenant_id, provider_slug, id, 'incremental', '2025-01-01' FROM c`,
      [tenant],
    );
    const last = await job(await connect(), foreign);
    let skippedMs = 0;
    const ports = { ...systemPorts, monotonicMs: () => performance.now() + skippedMs };
    const executor = { pollIntervalMs: 50, leaseSeconds: 3600 };
    const engine = database.engine({ ports, executor, connectors: [connector()] });
    await engine.start({ roles: ['executor'] });
    const corrected = (id: string) =>
      until(`job ${id} is corrected`, async () => {
        // One scan a minute.
        skippedMs += 60_000;
        return (
          (await sql(`SELECT FROM sync_jobs WHERE id = $1 AND provider_slug = 'github'`, [id])).length > 0
        );
      });
    await corrected(last);
    await sql(`UPDATE sync_jobs SET status = 'queued' WHERE id = $1`, [first]);
    await corrected(first);
  });
});

describe('EXE-13: a connection that moves during a run', () => {
  it.each([
    ['tenant', { tenant_id: other, provider_slug: 'github' }],
    ['provider', { tenant_id: tenant, provider_slug: 'slack' }],
  ])(
    'EXE-13: a run whose connection moves to another %s stores nothing for the old one',
    async (_, owner) => {
      const moved = await connect();
      const id = await job(moved);
      const { engine, ran, lines } = recordingEngine(['github', 'slack'], async (connection) => {
        if (ran.length === 1)
          await sql('UPDATE connections SET tenant_id = $2, provider_slug = $3 WHERE id = $1', [
            ...[connection, owner.tenant_id, owner.provider_slug],
          ]);
      });
      expect(await engine.drain()).toMatchObject({ succeeded: 2, requeued: 0, failed: 0 });
      const { provider_slug: called } = owner;
      expect(ran.map((run) => run.called)).toEqual(['github', called, called]);
      expect(await owners()).toEqual([owner]);
      expect(await sql('SELECT FROM signals')).toHaveLength(2);
      expect(warnings(lines)).toContainEqual(
        expect.objectContaining({ job_id: id, msg: expect.stringContaining('unlike its connection') }),
      );
      expect(await sql('SELECT attempts FROM sync_jobs WHERE id = $1', [id])).toEqual([{ attempts: 0 }]);
      expect(await sql('SELECT outcome FROM attempts WHERE job_id = $1', [id])).toEqual([
        { outcome: 'lost' },
      ]);
    },
  );

  it('EXE-13: runs of other connections in the same commit are stored', async () => {
    const [moved, staying] = [await connect(), await connect()];
    await job(moved);
    await job(staying);
    let started = 0;
    let release = () => {};
    const bothRun = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { engine } = recordingEngine(['github'], async () => {
      if (++started === 2) {
        await sql('UPDATE connections SET tenant_id = $2 WHERE id = $1', [moved, other]);
        release();
      }
      await bothRun;
    });
    await engine.drain();
    expect(
      await sql('SELECT connection_id, tenant_id, count(*)::int FROM signals GROUP BY 1, 2 ORDER BY 2 DESC'),
    ).toEqual(
      [
        { connection_id: moved, tenant_id: other, count: 2 },
        { connection_id: staying, tenant_id: tenant, count: 2 },
      ].sort((a, b) => (a.tenant_id < b.tenant_id ? 1 : -1)),
    );
  });

  it('EXE-13: a run that the provider rejects does not change a connection that moved', async () => {
    const moved = await connect();
    await job(moved);
    const { engine, ran } = recordingEngine(['github'], async (connection) => {
      if (ran.length > 1) return;
      await sql('UPDATE connections SET tenant_id = $2 WHERE id = $1', [connection, other]);
      throw new UnauthorizedError('The provider refuses the token.');
    });
    await engine.drain();
    expect(await sql('SELECT status FROM connections')).toEqual([{ status: 'active' }]);
    expect(await sql('SELECT FROM events')).toEqual([]);
    expect(await owners()).toEqual([{ tenant_id: other, provider_slug: 'github' }]);
  });
});
