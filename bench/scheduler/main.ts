/**
 * Measures the scheduler: what a tick costs when nothing is due, and how fast it catches up when everything is, against
 * SQL that writes the same rows and does nothing else. Everything runs on one embedded Postgres that keeps its promises
 * (fsync on). `npm run bench:scheduler -- --quick` tries it out with a tenth of the connections.
 */
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { blockFleet, createFleet, type Fleet, resetFleet, settle } from '../tools/fleet.ts';
import { progress, whole } from '../tools/report.ts';
import { facts, onPostgres } from '../tools/server.ts';
import { catchUp, catchUpRounds, catchUpTable, type Rates } from './catch-up.ts';
import { type IdleResult, idleCase, idleTable, measureIdle } from './idle.ts';
import { type Memory, memoryTable, watchMemory } from './memory.ts';
import { captureStatements, explain, type Statement } from './plans.ts';

const postgresSettings = { shared_buffers: '1GB', max_wal_size: '4GB' };

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const scale = options.quick
  ? { small: 1000, middle: 10_000, large: 100_000, idleRounds: 21, catchUpRounds: 3 }
  : { small: 1000, middle: 100_000, large: 1_000_000, idleRounds: 51, catchUpRounds: 3 };

/** The time as of which everything is overdue and placed: one for all, so that all of it can be compared. */
const at = new Date();

interface Bench {
  client: pg.Client;
  small: Fleet;
  middle: Fleet;
  large: Fleet;
  /** What has been found so far. */
  idle: IdleResult[][];
  plans: string[];
}

async function prepare(client: pg.Client, url: string): Promise<Bench> {
  const [small, middle, large] = [
    await createFleet(client, url, scale.small),
    await createFleet(client, url, scale.middle),
    await createFleet(client, url, scale.large),
  ];
  for (const fleet of [small, middle, large]) {
    progress(`inserting ${whole(fleet.size)} connections`);
    await resetFleet(client, fleet, 'idle', at);
  }
  return { client, small, middle, large, idle: [], plans: [] };
}

async function measureNothingDue({ client, small, middle, large, idle, plans }: Bench): Promise<void> {
  progress('idle ticks: nothing due');
  const cases = [small, middle, large].map((fleet) => idleCase(fleet));
  idle.push(await measureIdle(cases, scale.idleRounds));
  const statements = await captureStatements(async () => void (await large.engine.tick()));
  plans.push('An idle tick, nothing due:', await explain(client, statements));
}

/** Right after a tick that wrote every row, its dead rows are in the way, and the planner's statistics are of before. */
async function measureAftermath(bench: Bench, state: string, statements: Statement[]): Promise<void> {
  const { client, small, large, idle, plans } = bench;
  progress(`idle ticks: ${state}`);
  idle.push(await measureIdle([idleCase(small), idleCase(large, state, at)], scale.idleRounds));
  const reading = statements.filter(({ text }) => text.trimStart().startsWith('SELECT'));
  plans.push(`An idle tick, ${state}:`, await explain(client, reading));
}

async function measureCatchUp(bench: Bench): Promise<{ rates: Rates; memory: Memory; sent: Statement[] }> {
  const { client, large } = bench;
  progress(`catching up with ${whole(large.size)}`);
  let memory: Memory = { resident: [], kept: [0, 0] };
  let sent: Statement[] = [];
  const engine = await catchUp(client, large, 'engine', at, async (tick) => {
    sent = await captureStatements(async () => {
      memory = await watchMemory(tick);
    });
  });
  await measureAftermath(bench, 'just caught up', sent);
  const batches = await catchUp(client, large, 'batches', at);
  const atOnce = await catchUp(client, large, 'at once', at);
  return { rates: { engine, batches, 'at once': atOnce }, memory, sent };
}

/** All connections overdue, all of them with a job still queued: one tick sets them aside, the next must not care. */
async function measureBlocked(bench: Bench, statements: Statement[]): Promise<void> {
  const { client, small, large, idle, plans } = bench;
  progress(`setting ${whole(large.size)} blocked connections aside`);
  await resetFleet(client, large, 'overdue', at);
  plans.push('A catch-up, its first batch:', await explain(client, statements));
  await blockFleet(client, large);
  const { skippedPending } = await large.engine.tick({ at });
  if (skippedPending !== large.size) throw new Error(`${skippedPending} set aside, not ${large.size}`);
  await measureAftermath(bench, 'all blocked, just set aside', statements);
  await settle(client, large);
  progress('idle ticks: all blocked, vacuumed');
  const cases = [idleCase(small), idleCase(large, 'all blocked, vacuumed')];
  idle.push(await measureIdle(cases, scale.idleRounds));
}

async function run(client: pg.Client, url: string): Promise<string> {
  const bench = await prepare(client, url);
  const { small, middle, large, idle, plans } = bench;
  await measureNothingDue(bench);
  const middleRounds = await catchUpRounds(client, middle, at, scale.catchUpRounds);
  const { rates, memory, sent } = await measureCatchUp(bench);
  await measureBlocked(bench, sent);
  await Promise.all([small, middle, large].map(({ engine }) => engine.stop()));

  return [
    '# Scheduler benchmark',
    await facts(client, postgresSettings),
    '## Idle tick',
    `${scale.idleRounds} ticks each, in turns. A ratio compares with the ${whole(small.size)} connections above it.
"Just" is right after a tick that wrote every row: how much that left behind depends on how far autovacuum is by then.`,
    idleTable(idle),
    '## Catching up',
    `All connections overdue; jobs placed per second. The engine runs one tick. SQL in batches writes the same rows with
a statement and a transaction per ${whole(large.engine.config.scheduler.batchSize)} connections, on one database connection; SQL at once in one transaction.
A ratio is engine / SQL: the median, and least to most.`,
    catchUpTable([
      { size: middle.size, rounds: middleRounds },
      { size: large.size, rounds: [rates] },
    ]),
    '## Memory',
    `Resident memory of the engine's process while one tick placed ${whole(large.size)} jobs: medians of the quarters of its time. Kept
is what was in use after garbage was collected, before the tick and after.`,
    memoryTable(memory),
    '## Plans',
    `The engine's own statements, at ${whole(large.size)} connections.`,
    ...plans,
  ].join('\n\n');
}

await onPostgres(postgresSettings, run);
