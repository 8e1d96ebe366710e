import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type BudgetKeeper, createBudgetKeeper } from '../../src/budgets/keeper.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Budget, Budgets } from '../../src/contract/budget.ts';
import type { ClaimedJob } from '../../src/pipeline/claim.ts';
import type { Ports } from '../../src/platform/ports.ts';
import { openDatabase } from '../../src/store/database.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => sql('TRUNCATE budgets'));

const core: Budget = { name: 'core', per: 'credential', limit: 1000, perSeconds: 3600 };
const search: Budget = { name: 'search', per: 'credential', limit: 3, perSeconds: 60 };
const noon = Date.parse('2025-01-01T12:00:00Z');
const credentialId = '00000000-0000-4000-8000-0000000000e1';
const job = {
  tenantId: tenant,
  providerSlug: 'github',
  connectionId: '00000000-0000-4000-8000-00000000000c',
  connection: { credentialId },
} as ClaimedJob;

interface Process {
  keeper: BudgetKeeper;
  budgets: Budgets;
  statements: string[];
  /** From now on every statement fails. */
  cutOff(): void;
}

/** The budget keeper of one process; processes may share a clock. */
function startProcess(clock = testPorts()): Process {
  const statements: string[] = [];
  let isCutOff = false;
  const ports: Ports = {
    ...clock,
    databaseTime: () => new Date(clock.now()),
    query: (statement, send) => {
      statements.push(statement);
      return isCutOff ? Promise.reject(new Error('cut off')) : send();
    },
  };
  const { config } = loadConfig({ options: { database: database.url }, env: {} });
  const db = openDatabase(config.database, { ports, onConnectionLost: () => {}, onSkew: () => {} });
  const telemetry = { roundFailed: () => {} };
  const keeper = createBudgetKeeper({ db, ports, telemetry, explain: (error) => error });
  onTestFinished(async () => {
    await keeper.stop();
    await db.close();
  });
  return { keeper, budgets: keeper.forRun(job), statements, cutOff: () => (isCutOff = true) };
}

const rowOf = async (name: string) => {
  const [row] = await sql<Record<string, unknown>>(
    `SELECT most, spent, drift, leased, carried, window_number::int AS window, resets_at FROM budgets WHERE name = $1`,
    [name],
  );
  return row;
};

async function spend(budgets: Budgets, count: number, budget = core): Promise<void> {
  for (let i = 0; i < count; i++) (await budgets.take([{ budget }])).settle();
}

describe('budgets: a process leases blocks of tokens', () => {
  it('budgets: keeps one bucket per credential and one per app', async () => {
    const { budgets } = startProcess();
    await budgets.take([{ budget: core }, { budget: { ...core, name: 'app', per: 'app' } }]);
    expect(
      await sql('SELECT key, tenant_id, provider_slug, credential_id FROM budgets ORDER BY key'),
    ).toEqual([
      { key: 'github/app', tenant_id: null, provider_slug: 'github', credential_id: null },
      {
        key: `github/core/${credentialId}`,
        tenant_id: tenant,
        provider_slug: 'github',
        credential_id: credentialId,
      },
    ]);
  });

  it('budgets: without a credential the bucket belongs to the connection', async () => {
    const { keeper } = startProcess();
    await keeper
      .forRun({ ...job, connection: { ...job.connection, credentialId: undefined } })
      .take([{ budget: core }]);
    expect(await sql('SELECT key FROM budgets')).toEqual([{ key: `github/core/${job.connectionId}` }]);
  });

  it('budgets: 20 concurrent callers lease one block in one transaction', async () => {
    const { budgets, statements } = startProcess();
    await Promise.all(Array.from({ length: 20 }, () => budgets.take([{ budget: core }])));
    const first = statements.length;
    expect(statements.filter((statement) => statement.includes('FOR NO KEY UPDATE'))).toHaveLength(1);
    expect(first).toBe(5);
    expect(await rowOf('core')).toMatchObject({ leased: 20, spent: 0 });
    await spend(budgets, 20);
    // One more block, a fiftieth of the limit.
    expect(statements).toHaveLength(first + 4);
  });

  it('budgets: concurrent requests for 50 budgets share one transaction', async () => {
    const { budgets, statements } = startProcess();
    const names = Array.from({ length: 50 }, (_, i) => ({ ...core, name: `endpoint ${i}` }));
    await Promise.all(names.map((budget) => budgets.take([{ budget }])));
    expect(statements).toHaveLength(5);
  });

  it('budgets: a request for several budgets takes all or none', async () => {
    const { budgets, keeper } = startProcess();
    for (let i = 0; i < 3; i++)
      (await budgets.take([{ budget: core, weight: 5 }, { budget: search }])).settle();
    await expect(budgets.take([{ budget: core, weight: 5 }, { budget: search }])).rejects.toMatchObject({
      parked: true,
      message: 'The budget github/search of this credential is used up until 12:01:00Z.',
    });
    await keeper.stop();
    expect(await rowOf('core')).toMatchObject({ spent: 15, leased: 0 });
    expect(await rowOf('search')).toMatchObject({ spent: 3, leased: 0 });
  });

  it('budgets: weights add up, also of a budget listed twice', async () => {
    const { budgets, keeper } = startProcess();
    (await budgets.take([{ budget: core, weight: 7 }, { budget: core }])).settle();
    await keeper.stop();
    expect(await rowOf('core')).toMatchObject({ spent: 8, leased: 0 });
  });

  it('budgets: settle({ free: true }) returns the tokens', async () => {
    const { budgets, keeper } = startProcess();
    for (let i = 0; i < 50; i++) (await budgets.take([{ budget: search }])).settle({ free: true });
    const taken = await budgets.take([{ budget: search }]);
    taken.settle();
    taken.settle();
    await keeper.stop();
    expect(await rowOf('search')).toMatchObject({ spent: 1, leased: 0 });
  });

  it('budgets: unused tokens are returned after an idle second, and then no statement is sent', async () => {
    const clock = testPorts();
    const { budgets, statements } = startProcess(clock);
    const asleep = clock.asleep();
    await spend(budgets, 3);
    expect(await asleep).toBe(1000);
    expect(await rowOf('core')).toMatchObject({ leased: 20, spent: 0 });
    clock.advance(1000);
    clock.wake();
    await until('the tokens are returned', async () => (await rowOf('core'))?.['leased'] === 0);
    expect(await rowOf('core')).toMatchObject({ spent: 3 });
    const sentBefore = statements.length;
    clock.advance(100_000);
    clock.wake();
    await new Promise(setImmediate);
    expect(statements).toHaveLength(sentBefore);
  });

  it('budgets: tokens returned to an exhausted budget are usable after 5 s', async () => {
    const clock = testPorts();
    const [holder, other] = [startProcess(clock), startProcess(clock)];
    const held = await holder.budgets.take([{ budget: search, weight: 3 }]);
    await expect(other.budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    held.settle({ free: true });
    await holder.keeper.stop();
    await expect(other.budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    clock.advance(5000);
    await spend(other.budgets, 3, search);
  });

  it('budgets: a raised limit takes effect after 5 s', async () => {
    const clock = testPorts();
    const { budgets } = startProcess(clock);
    await spend(budgets, 3, search);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    clock.advance(5000);
    await spend(budgets, 2, { ...search, limit: 5 });
  });

  it('budgets: requests in flight at the end of a window count in the next one', async () => {
    const clock = testPorts();
    const { budgets } = startProcess(clock);
    const slow = await budgets.take([{ budget: search, weight: 2 }]);
    clock.advance(62_000);
    await spend(budgets, 1, search);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    slow.settle();
    clock.advance(5000);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    expect(await rowOf('search')).toMatchObject({ window: 2, spent: 3, carried: 0 });
  });

  it('budgets: tokens of a dead process are available again one window after the reset', async () => {
    const clock = testPorts();
    const [dead, live] = [startProcess(clock), startProcess(clock)];
    await dead.budgets.take([{ budget: search, weight: 3 }]);
    dead.cutOff();
    clock.advance(62_000);
    await expect(live.budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    clock.advance(62_000);
    await spend(live.budgets, 3, search);
  });

  it('budgets: grants no tokens in the 2 s between two windows', async () => {
    const clock = testPorts();
    const { budgets } = startProcess(clock);
    await spend(budgets, 1, search);
    clock.advance(60_000);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({
      parked: true,
      retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds >= 2 && seconds <= 8),
    });
    clock.advance(2000);
    await spend(budgets, 3, search);
  });

  it('budgets: a clock that is set back blocks a budget for at most one window', async () => {
    const before = startProcess();
    await spend(before.budgets, 3, search);
    await before.keeper.stop();
    // The clock of another server after a failover.
    const clock = testPorts('2024-01-01T12:00:00Z');
    const { budgets } = startProcess(clock);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({
      parked: true,
      retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds >= 62 && seconds <= 68),
    });
    clock.advance(62_000);
    await spend(budgets, 3, search);
  });

  it('budgets: without a database take() fails with a TransientError', async () => {
    const { budgets, cutOff } = startProcess();
    cutOff();
    await expect(budgets.take([{ budget: core }])).rejects.toMatchObject({
      name: 'TransientError',
      message: 'Budgets are unavailable: cut off',
    });
  });
});

describe('budgets: a process learns from provider responses', () => {
  it('budgets: adopts the limit, count and window of the provider', async () => {
    const { budgets, keeper } = startProcess();
    const taken = await budgets.take([{ budget: core }]);
    taken.settle();
    budgets.learn(core, { limit: 5000, remaining: 3999, resetsInSeconds: 600 });
    await keeper.stop();
    // The provider counts 1,001 requests; this bucket has spent one.
    expect(await rowOf('core')).toMatchObject({
      most: 5000,
      spent: 1,
      drift: 1001,
      leased: 0,
      resets_at: new Date(noon + 600_000),
    });
  });

  it('budgets: drift excludes the requests of this process', async () => {
    const { budgets, keeper } = startProcess();
    await spend(budgets, 1);
    budgets.learn(core, { remaining: 899, resetsInSeconds: 3600 });
    await spend(budgets, 20);
    await spend(budgets, 1);
    budgets.learn(core, { remaining: 878, resetsInSeconds: 3600 });
    await keeper.stop();
    // The provider counts 122, of which 22 are ours; the request in flight may count twice.
    expect(await rowOf('core')).toMatchObject({
      spent: 22,
      drift: expect.toSatisfy((n: number) => n >= 100 && n <= 102),
    });
  });

  it('budgets: a response from an earlier window changes nothing', async () => {
    const clock = testPorts();
    const { budgets, keeper } = startProcess(clock);
    const old = await budgets.take([{ budget: search }]);
    clock.advance(62_000);
    const fresh = await budgets.take([{ budget: search }]);
    old.settle();
    budgets.learn(search, { remaining: 0, resetsInSeconds: 0 });
    fresh.settle();
    await keeper.stop();
    expect(await rowOf('search')).toMatchObject({ window: 2, drift: 0, resets_at: new Date(noon + 122_000) });
  });

  it('budgets: invalid values in a response are ignored', async () => {
    const { budgets, keeper } = startProcess();
    await spend(budgets, 1);
    budgets.learn(core, { limit: Number.NaN, remaining: -5, resetsInSeconds: Number.POSITIVE_INFINITY });
    budgets.learn(core, { limit: 0, remaining: Number.NaN });
    await keeper.stop();
    expect(await rowOf('core')).toMatchObject({
      most: 1000,
      drift: 0,
      resets_at: new Date(noon + 3_600_000),
    });
  });

  it('budgets: remaining 0 blocks requests also while tokens are leased', async () => {
    const clock = testPorts();
    const { budgets } = startProcess(clock);
    await spend(budgets, 1);
    budgets.learn(core, { remaining: 0, resetsInSeconds: 3600 });
    await expect(budgets.take([{ budget: core }])).rejects.toMatchObject({ parked: true });
  });
});
