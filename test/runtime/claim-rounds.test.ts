import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { type Ports, systemPorts } from '../../src/index.ts';
import type { ClaimedJob } from '../../src/pipeline/claim.ts';
import { createClaimRounds } from '../../src/runtime/claim-rounds.ts';
import { createSlots } from '../../src/runtime/slots.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const opened: Database[] = [];
afterEach(() => Promise.all(opened.splice(0).map((db) => db.close())));

const pollIntervalMs = 60_000;
const deadEntries = 20_000;

/** Dead entries in idx_sync_jobs_ready that neither vacuum nor an index scan may remove. */
async function pinDeadEntries(): Promise<pg.Client> {
  await sql(
    `WITH c AS (INSERT INTO connections (tenant_id, provider_slug) SELECT $1, 'github' FROM generate_series(1, $2) RETURNING *)
     INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
     SELECT tenant_id, provider_slug, id, 'incremental', '2024-12-01' FROM c`,
    [tenant, deadEntries],
  );
  const holder = await database.session();
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await holder.query('SELECT 1');
  await sql(`UPDATE sync_jobs SET status = 'succeeded'`);
  return holder;
}

/** The claim rounds of a registered process, and the errors that the server sent. */
async function openRounds({
  maxQueryMs,
  afterQuery = async () => {},
}: {
  maxQueryMs?: number;
  afterQuery?: (statement: string) => Promise<void>;
} = {}) {
  const { config } = loadConfig({ options: { database: database.url, executor: { pollIntervalMs } } });
  const errorCodes: (string | undefined)[] = [];
  const ports: Ports = {
    ...systemPorts,
    // No scan counts as slow: each claim is a full scan.
    monotonicMs: () => 0,
    query: async (statement, send) => {
      const result = await send().catch((error: unknown) => {
        if (error instanceof pg.DatabaseError) errorCodes.push(error.code);
        throw error;
      });
      await afterQuery(statement);
      return result;
    },
  };
  const db = openDatabase(config.database, { ports, onConnectionLost: () => {}, onSkew: () => {} });
  opened.push(db);
  const processId = randomUUID();
  await sql(
    `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
     VALUES ($1, 'web-1', 1, 1, '{}', now(), now() + interval '1 hour')`,
    [processId],
  );
  const { log, lines } = recordingLogger();
  const telemetry = createTelemetry(log, config.metrics, {
    explain: (error) => error,
    monotonicMs: ports.monotonicMs,
  });
  const connectors = new Map([['github', connector(() => ({ signals: [] }))]]);
  const started: ClaimedJob[] = [];
  const rounds = createClaimRounds({
    db,
    config: config.executor,
    rateLimit: config.rateLimit,
    ports,
    connectors,
    telemetry,
    resources: undefined as never,
    slots: createSlots({ ports, telemetry, connectors, onFreed: () => {} }),
    lease: {
      processId: () => processId,
      hasPendingReturns: () => false,
      holds: () => true,
      markUncertain: () => {},
      wake: () => {},
      stop: async () => 0,
    },
    isListening: () => true,
    start: (claimed) => void started.push(claimed),
    ...(maxQueryMs !== undefined && { maxQueryMs }),
  });
  return { rounds, started, errorCodes, lines };
}

describe('DB-4: the query for the next due job beside an old snapshot', () => {
  it('DB-4: is cancelled by the server; the executor polls, claims without the query and warns once', async () => {
    await pinDeadEntries();
    const { rounds, started, errorCodes, lines } = await openRounds({ maxQueryMs: 1 });
    await rounds.runOnce();
    for (let round = 1; round <= 3; round++) {
      const id = await job(await connect());
      errorCodes.length = 0;
      expect(await rounds.runOnce()).toBe(pollIntervalMs);
      expect(errorCodes).toEqual(['57014']);
      expect(started).toHaveLength(round - 1);
      expect(await rounds.runOnce()).toBe(0);
      expect(started.at(-1)?.id).toBe(id);
    }
    expect(lines.filter(({ msg }) => msg.includes('query for the next due job'))).toMatchObject([
      { level: 'warn', limit_ms: 1, poll_ms: pollIntervalMs },
    ]);
  });

  it('DB-4: a drain waits for the answer instead of the cancelled query', async () => {
    await pinDeadEntries();
    const { rounds } = await openRounds({ maxQueryMs: 1 });
    await rounds.runOnce();
    const drained = rounds.drained();
    expect(await rounds.runOnce()).toBe(pollIntervalMs);
    await drained;
  });

  it('DB-4: within its limit, the query ends the pause when the next job is due', async () => {
    await job(await connect(), { scheduled_at: new Date(Date.now() + pollIntervalMs / 2) });
    const { rounds, errorCodes, lines } = await openRounds();
    await rounds.runOnce();
    expect(await rounds.runOnce()).toBeLessThanOrEqual(pollIntervalMs / 2);
    expect({ errorCodes, lines }).toEqual({ errorCodes: [], lines: [] });
  });
});

const isNextDue = (statement: string) => /lane AS[\s\S]+SELECT least\(/.test(statement);

describe('EXE-2: order after a notification', () => {
  it('EXE-2: a notification during the query for the next due job also ends backoffs', async () => {
    const inserted: string[] = [];
    const { rounds, started } = await openRounds({
      afterQuery: async (statement) => {
        if (!isNextDue(statement) || inserted.length > 0) return;
        inserted.push(await job(await connect(), { priority: 9, retry_after: new Date(Date.now() - 1000) }));
        inserted.push(await job(await connect()));
        rounds.forgetNextDue();
        rounds.expectWork();
      },
    });
    await rounds.runOnce();
    await rounds.runOnce();
    await rounds.runOnce();
    expect(inserted).toHaveLength(2);
    expect(started.map(({ id }) => id)).toEqual(inserted);
  });
});
