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
  /** Statements are lost from now on. */
  cutOff(): void;
}

/** A process as far as budgets are concerned, on a clock that several may share. */
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

describe('budgets: a process keeps a share', () => {
  it('budgets: those of one credential are one bucket, those of an app another', async () => {
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

  it('budgets: without a credential it is the connection that counts', async () => {
    const { keeper } = startProcess();
    await keeper
      .forRun({ ...job, connection: { ...job.connection, credentialId: undefined } })
      .take([{ budget: core }]);
    expect(await sql('SELECT key FROM budgets')).toEqual([{ key: `github/core/${job.connectionId}` }]);
  });

  it('budgets: a block is taken with one transaction, whoever waits for it', async () => {
    const { budgets, statements } = startProcess();
    await Promise.all(Array.from({ length: 20 }, () => budgets.take([{ budget: core }])));
    const first = statements.length;
    expect(statements.filter((statement) => statement.includes('FOR NO KEY UPDATE'))).toHaveLength(1);
    expect(first).toBe(5);
    expect(await rowOf('core')).toMatchObject({ leased: 20, spent: 0 });
    await spend(budgets, 20);
    // One more block, of a fiftieth.
    expect(statements).toHaveLength(first + 4);
  });

  it('budgets: many that are asked for at once are asked for together', async () => {
    const { budgets, statements } = startProcess();
    const names = Array.from({ length: 50 }, (_, i) => ({ ...core, name: `endpoint ${i}` }));
    await Promise.all(names.map((budget) => budgets.take([{ budget }])));
    expect(statements).toHaveLength(5);
  });

  it('budgets: of several each is taken or none', async () => {
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

  it('budgets: weights add up, also of one that is named twice', async () => {
    const { budgets, keeper } = startProcess();
    (await budgets.take([{ budget: core, weight: 7 }, { budget: core }])).settle();
    await keeper.stop();
    expect(await rowOf('core')).toMatchObject({ spent: 8, leased: 0 });
  });

  it('budgets: what the provider did not count is given back', async () => {
    const { budgets, keeper } = startProcess();
    for (let i = 0; i < 50; i++) (await budgets.take([{ budget: search }])).settle({ free: true });
    const taken = await budgets.take([{ budget: search }]);
    taken.settle();
    taken.settle();
    await keeper.stop();
    expect(await rowOf('search')).toMatchObject({ spent: 1, leased: 0 });
  });

  it('budgets: what is left goes back when nobody has taken for a second, and then nothing is asked', async () => {
    const clock = testPorts();
    const { budgets, statements } = startProcess(clock);
    const asleep = clock.asleep();
    await spend(budgets, 3);
    expect(await asleep).toBe(1000);
    expect(await rowOf('core')).toMatchObject({ leased: 20, spent: 0 });
    clock.advance(1000);
    clock.wake();
    await until('it is given back', async () => (await rowOf('core'))?.['leased'] === 0);
    expect(await rowOf('core')).toMatchObject({ spent: 3 });
    const told = statements.length;
    clock.advance(100_000);
    clock.wake();
    await new Promise(setImmediate);
    expect(statements).toHaveLength(told);
  });

  it('budgets: what comes back to one that was used up is noticed within seconds', async () => {
    const clock = testPorts();
    const [one, other] = [startProcess(clock), startProcess(clock)];
    const held = await one.budgets.take([{ budget: search, weight: 3 }]);
    await expect(other.budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    held.settle({ free: true });
    await one.keeper.stop();
    await expect(other.budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    clock.advance(5000);
    await spend(other.budgets, 3, search);
  });

  it('budgets: a limit that was raised is noticed within seconds', async () => {
    const clock = testPorts();
    const { budgets } = startProcess(clock);
    await spend(budgets, 3, search);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    clock.advance(5000);
    await spend(budgets, 2, { ...search, limit: 5 });
  });

  it('budgets: the provider may still count what was under way when a window ended', async () => {
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

  it('budgets: tokens of a process that died are there again a minute after the reset', async () => {
    const clock = testPorts();
    const [dead, living] = [startProcess(clock), startProcess(clock)];
    await dead.budgets.take([{ budget: search, weight: 3 }]);
    dead.cutOff();
    clock.advance(62_000);
    await expect(living.budgets.take([{ budget: search }])).rejects.toMatchObject({ parked: true });
    clock.advance(62_000);
    await spend(living.budgets, 3, search);
  });

  it('budgets: nothing is taken between the end of a window and the next', async () => {
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

  it('budgets: a clock that is set back closes a budget for no longer than its window lasts', async () => {
    const before = startProcess();
    await spend(before.budgets, 3, search);
    await before.keeper.stop();
    // By the clock of another server, which has taken over.
    const clock = testPorts('2024-01-01T12:00:00Z');
    const { budgets } = startProcess(clock);
    await expect(budgets.take([{ budget: search }])).rejects.toMatchObject({
      parked: true,
      retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds >= 62 && seconds <= 68),
    });
    clock.advance(62_000);
    await spend(budgets, 3, search);
  });

  it('budgets: without a database nothing is asked of the provider', async () => {
    const { budgets, cutOff } = startProcess();
    cutOff();
    await expect(budgets.take([{ budget: core }])).rejects.toMatchObject({
      name: 'TransientError',
      message: 'The budgets cannot be asked: cut off',
    });
  });
});

describe('budgets: a process learns what the provider says', () => {
  it('budgets: its limit, its count and its window are adopted', async () => {
    const { budgets, keeper } = startProcess();
    const taken = await budgets.take([{ budget: core }]);
    taken.settle();
    budgets.learn(core, { limit: 5000, remaining: 3999, resetsInSeconds: 600 });
    await keeper.stop();
    // A thousand and one are counted there, and one is known here.
    expect(await rowOf('core')).toMatchObject({
      most: 5000,
      spent: 1,
      drift: 1001,
      leased: 0,
      resets_at: new Date(noon + 600_000),
    });
  });

  it('budgets: what others use is believed less the more is known of what is our own', async () => {
    const { budgets, keeper } = startProcess();
    await spend(budgets, 1);
    budgets.learn(core, { remaining: 899, resetsInSeconds: 3600 });
    await spend(budgets, 20);
    await spend(budgets, 1);
    budgets.learn(core, { remaining: 878, resetsInSeconds: 3600 });
    await keeper.stop();
    // 122 are counted there, 22 are ours; the one that was under way when it said so may count twice.
    expect(await rowOf('core')).toMatchObject({
      spent: 22,
      drift: expect.toSatisfy((n: number) => n >= 100 && n <= 102),
    });
  });

  it('budgets: an answer to a request of a window that is over changes nothing', async () => {
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

  it('budgets: nonsense in an answer is passed over', async () => {
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

  it('budgets: a provider that has none left is not asked again, whatever was taken before', async () => {
    const clock = testPorts();
    const { budgets } = startProcess(clock);
    await spend(budgets, 1);
    budgets.learn(core, { remaining: 0, resetsInSeconds: 3600 });
    await expect(budgets.take([{ budget: core }])).rejects.toMatchObject({ parked: true });
  });
});
