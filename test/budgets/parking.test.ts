import { beforeEach, describe, expect, it } from 'vitest';
import type { Budget, BudgetUse } from '../../src/contract/budget.ts';
import type { Connector, SynclineOptions } from '../../src/index.ts';
import { type TestPorts, testPorts } from '../support/clock.ts';
import { connector } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const core: Budget = { name: 'core', per: 'app', limit: 2, perSeconds: 600 };
const noon = Date.parse('2025-01-01T12:00:00Z');

/** A stopped clock, also for buckets. */
function stoppedClock(): TestPorts {
  const ports = testPorts(undefined, () => 0.5);
  return { ...ports, sleeps: ports.sleeps };
}

const takingConnector = (uses: readonly BudgetUse[] = [{ budget: core }]): Connector =>
  connector(async ({ budgets }) => {
    const taken = await budgets.take(uses);
    taken.settle();
    return { signals: [] };
  });

async function drain(ports: TestPorts, only: Connector, options: SynclineOptions = {}) {
  const { log, lines } = recordingLogger('info');
  const statements: string[] = [];
  const query: TestPorts['query'] = (statement, send) => {
    statements.push(statement);
    return send();
  };
  const engine = database.engine({ ports: { ...ports, query }, connectors: [only], logger: log, ...options });
  await engine.drain();
  await engine.stop();
  return { lines, statements };
}

const jobs = () =>
  sql<{ status: string; attempts: number; retry_after: Date | null; error: { message: string } | null }>(
    'SELECT status, attempts, retry_after, error FROM sync_jobs ORDER BY status, id',
  );
const statuses = async () => (await jobs()).map(({ status }) => status);

describe('budgets: a run without tokens parks its job', () => {
  it('budgets: a parked job waits for the next window without counting as a run', async () => {
    const ports = stoppedClock();
    for (let i = 0; i < 5; i++) await job(await connect());
    await drain(ports, takingConnector());
    expect(await statuses()).toEqual(['queued', 'queued', 'queued', 'succeeded', 'succeeded']);
    const [parked] = await jobs();
    // The end of the window, plus 2 s, plus half of the minute over which parked jobs return.
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
    await drain(ports, takingConnector());
    expect(await statuses()).toEqual(['queued', 'succeeded', 'succeeded', 'succeeded', 'succeeded']);
    ports.advance(600_000 + 32_000);
    await drain(ports, takingConnector());
    expect(new Set(await statuses())).toEqual(new Set(['succeeded']));
  });

  it('budgets: statistics count a parked job neither as retried nor as late', async () => {
    await sql('TRUNCATE rollups');
    const ports = stoppedClock();
    for (let i = 0; i < 4; i++) await job(await connect(), { scheduled_at: '2025-01-01T12:00:00Z' });
    await drain(ports, takingConnector());
    ports.advance(600_000 + 32_000);
    await drain(ports, takingConnector());
    expect(new Set(await statuses())).toEqual(new Set(['succeeded']));
    const rows = await sql<{ succeeded: string; retried: string; late: string }>(
      `SELECT sum(succeeded)::int AS succeeded, sum(retried)::int AS retried,
         sum(${Array.from({ length: 11 }, (_, i) => `lag_${i + 1}`).join(' + ')})::int AS late
       FROM rollups WHERE tenant_id = '00000000-0000-0000-0000-000000000000'`,
    );
    expect(rows).toEqual([{ succeeded: 4, retried: 0, late: 0 }]);
  });

  it('budgets: the explanation names the budget, and no warning is logged', async () => {
    const ports = stoppedClock();
    for (let i = 0; i < 3; i++) await job(await connect());
    const { lines } = await drain(ports, takingConnector());
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
    const [waiting] = await sql<{ id: string; connection_id: string }>(
      `SELECT id, connection_id FROM sync_jobs WHERE status = 'queued'`,
    );
    const engine = database.engine({ ports });
    const why = await engine.connections.explain(waiting?.connection_id ?? '');
    expect(why).toMatchObject({
      state: 'backing_off',
      sentence:
        'Waiting: The budget github/core of the app is used up until 12:10:00Z. Next attempt in 11 min (2025-01-01T12:10:32.000Z).',
    });
    expect((await engine.jobs.get(waiting?.id ?? ''))?.verdict).toBe(
      'Waiting: The budget github/core of the app is used up until 12:10:00Z. Next attempt in 11 min.',
    );
  });

  it('budgets: parking keeps the attempts of a job', async () => {
    const ports = stoppedClock();
    await job(await connect(), { attempts: 3 });
    await drain(ports, takingConnector([{ budget: core, weight: 2 }]));
    await job(await connect(), { attempts: 3 });
    await drain(ports, takingConnector());
    expect((await jobs())[0]).toMatchObject({ status: 'queued', attempts: 3 });
  });

  it('budgets: runs that find a budget exhausted send no statement', async () => {
    const ports = stoppedClock();
    for (let i = 0; i < 40; i++) await job(await connect());
    const { statements } = await drain(ports, takingConnector());
    expect(await statuses()).toHaveLength(40);
    const budgetStatements = statements.filter((statement) => statement.includes('.budgets'));
    expect(budgetStatements.length).toBeLessThanOrEqual(8);
  });

  it('budgets: a weight above the limit fails permanently with the reason', async () => {
    const ports = stoppedClock();
    await job(await connect());
    await drain(ports, takingConnector([{ budget: core, weight: 3 }]));
    expect((await jobs())[0]).toMatchObject({
      status: 'failed',
      error: {
        kind: 'permanent',
        message:
          "weight must be at most 2, the limit of the budget github/core, got 3. Split the request, or correct the budget's limit.",
      },
    });
  });

  it.each([
    [
      { limit: 0 },
      /^A budget's limit must be a whole number from 1 to \d+, got 0\. Correct the connector\.$/,
    ],
    [{ perSeconds: 0.5 }, /^A budget's perSeconds must be .*, got 0\.5/],
    [{ name: 'half a \uD83D' }, /^A budget's name must be .*, got "half a /],
    [{ name: '' }, /^A budget's name must be text of 1 to 200 characters, got ""/],
    [{ per: 'tenant' as 'app' }, /^A budget's per must be "credential" or "app", got "tenant"/],
  ])('budgets: rejects an invalid budget: %o', async (wrong, message) => {
    await job(await connect());
    await drain(stoppedClock(), takingConnector([{ budget: { ...core, ...wrong } }]));
    expect((await jobs())[0]).toMatchObject({
      status: 'failed',
      error: { kind: 'permanent', message: expect.stringMatching(message) },
    });
  });
});
