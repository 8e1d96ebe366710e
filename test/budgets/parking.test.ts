import { beforeEach, describe, expect, it } from 'vitest';
import type { Budget, BudgetUse } from '../../src/contract/budget.ts';
import type { Connector, SynclineOptions } from '../../src/index.ts';
import { type TestPorts, testPorts } from '../support/clock.ts';
import { connector } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE budgets');
});

const core: Budget = { name: 'core', per: 'app', limit: 2, perSeconds: 600 };
const noon = Date.parse('2025-01-01T12:00:00Z');

/** Time stands still, for buckets as well. */
function stillPorts(): TestPorts {
  const ports = testPorts(undefined, () => 0.5);
  return { ...ports, sleeps: ports.sleeps };
}

/** A connector whose runs ask once. */
const asking = (uses: readonly BudgetUse[] = [{ budget: core }]): Connector =>
  connector(async ({ budgets }) => {
    const taken = await budgets.take(uses);
    taken.settle();
    return { signals: [] };
  });

async function drain(ports: TestPorts, one: Connector, options: SynclineOptions = {}) {
  const { log, lines } = recordingLogger('info');
  const statements: string[] = [];
  const query: TestPorts['query'] = (statement, send) => {
    statements.push(statement);
    return send();
  };
  const engine = database.engine({ ports: { ...ports, query }, connectors: [one], logger: log, ...options });
  await engine.drain();
  await engine.stop();
  return { lines, statements };
}

const jobs = () =>
  sql<{ status: string; attempts: number; retry_after: Date | null; error: { message: string } | null }>(
    'SELECT status, attempts, retry_after, error FROM sync_jobs ORDER BY status, id',
  );
const statuses = async () => (await jobs()).map(({ status }) => status);

describe('budgets: a run without one parks its job', () => {
  it('budgets: the job waits until the next window, as if it had not run, and then runs', async () => {
    const ports = stillPorts();
    for (let i = 0; i < 5; i++) await job(await connect());
    await drain(ports, asking());
    expect(await statuses()).toEqual(['queued', 'queued', 'queued', 'succeeded', 'succeeded']);
    const [parked] = await jobs();
    // Its end, two seconds more, and half of the minute over which those who were parked come back.
    expect(parked).toEqual({
      status: 'queued',
      attempts: 0,
      retry_after: new Date(noon + 600_000 + 2000 + 30_000),
      error: expect.objectContaining({
        kind: 'rate_limited',
        parked: true,
        message: 'The budget github/core of the app is used up until 12:10:00Z.',
      }),
    });
    expect(await sql('SELECT FROM attempts')).toEqual([]);
    expect(await sql('SELECT FROM connections WHERE failing_since IS NOT NULL')).toEqual([]);

    ports.advance(600_000 + 32_000);
    await drain(ports, asking());
    expect(await statuses()).toEqual(['queued', 'succeeded', 'succeeded', 'succeeded', 'succeeded']);
    ports.advance(600_000 + 32_000);
    await drain(ports, asking());
    expect(new Set(await statuses())).toEqual(new Set(['succeeded']));
  });

  it('budgets: in the statistics a parked job is neither tried again nor late', async () => {
    await sql('TRUNCATE rollups');
    const ports = stillPorts();
    for (let i = 0; i < 4; i++) await job(await connect(), { scheduled_at: '2025-01-01T12:00:00Z' });
    await drain(ports, asking());
    ports.advance(600_000 + 32_000);
    await drain(ports, asking());
    expect(new Set(await statuses())).toEqual(new Set(['succeeded']));
    const rows = await sql<{ succeeded: string; retried: string; late: string }>(
      `SELECT sum(succeeded)::int AS succeeded, sum(retried)::int AS retried,
         sum(${Array.from({ length: 11 }, (_, i) => `lag_${i + 1}`).join(' + ')})::int AS late
       FROM rollups WHERE tenant_id = '00000000-0000-0000-0000-000000000000'`,
    );
    expect(rows).toEqual([{ succeeded: 4, retried: 0, late: 0 }]);
  });

  it('budgets: people are told that it waits and for what, and nobody is woken', async () => {
    const ports = stillPorts();
    for (let i = 0; i < 3; i++) await job(await connect());
    const { lines } = await drain(ports, asking());
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
    const [waiting] = await sql<{ id: string; connection_id: string }>(
      `SELECT id, connection_id FROM sync_jobs WHERE status = 'queued'`,
    );
    const engine = database.engine({ ports });
    const why = await engine.connections.explain(waiting?.connection_id ?? '');
    expect(why).toMatchObject({
      state: 'backing_off',
      sentence:
        'It waits: The budget github/core of the app is used up until 12:10:00Z. The next try is in 11 min (2025-01-01T12:10:32.000Z).',
    });
    expect((await engine.jobs.get(waiting?.id ?? ''))?.verdict).toBe(
      'It waits: The budget github/core of the app is used up until 12:10:00Z. It is tried again in 11 min.',
    );
  });

  it('budgets: earlier failures of a job that is parked are neither added to nor forgotten', async () => {
    const ports = stillPorts();
    await job(await connect(), { attempts: 3 });
    await drain(ports, asking([{ budget: core, weight: 2 }]));
    await job(await connect(), { attempts: 3 });
    await drain(ports, asking());
    expect((await jobs())[0]).toMatchObject({ status: 'queued', attempts: 3 });
  });

  it('budgets: once it is known to be used up, runs cost no statement for it', async () => {
    const ports = stillPorts();
    for (let i = 0; i < 40; i++) await job(await connect());
    const { statements } = await drain(ports, asking());
    expect(await statuses()).toHaveLength(40);
    const about = statements.filter((statement) => statement.includes('.budgets'));
    expect(about.length).toBeLessThanOrEqual(8);
  });

  it('budgets: a request that costs more than there ever is fails for good, and says so', async () => {
    const ports = stillPorts();
    await job(await connect());
    await drain(ports, asking([{ budget: core, weight: 3 }]));
    expect((await jobs())[0]).toMatchObject({
      status: 'failed',
      error: {
        kind: 'permanent',
        message:
          "A request that costs 3 is more than the budget github/core ever has, which is 2. Ask for less at once, or correct the budget's limit.",
      },
    });
  });

  it.each([
    [
      { limit: 0 },
      /^A budget's limit is 0; it must be a whole number from 1 to \d+\. Correct the connector\.$/,
    ],
    [{ perSeconds: 0.5 }, /^A budget's perSeconds is 0\.5; /],
    [{ name: 'half a \uD83D' }, /^A budget's name is "half a /],
    [{ name: '' }, /^A budget's name is ""; it must be text of 1 to 200 characters/],
    [{ per: 'tenant' as 'app' }, /^A budget's per is "tenant"; it must be "credential" or "app"/],
  ])('budgets: one that is none is named: %o', async (wrong, message) => {
    await job(await connect());
    await drain(stillPorts(), asking([{ budget: { ...core, ...wrong } }]));
    expect((await jobs())[0]).toMatchObject({
      status: 'failed',
      error: { kind: 'permanent', message: expect.stringMatching(message) },
    });
  });
});
