import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  type SyncContext,
  type SyncResult,
  systemPorts,
  TransientError,
  UnauthorizedError,
} from '../../src/index.ts';
import { startBlockingEngine } from '../support/blocking-engine.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { check, invariants, type Truth } from './check.ts';
import { forgetHistory, keepHistory, readHistory } from './history.ts';

const database = useDatabase();
const { sql } = database;

/** Twelve items in pages of five. Every connection gets another kind of error. */
const items = Array.from({ length: 12 }, (_, i) => `item-${i}`);
const errors: (() => Error | undefined)[] = [
  () => undefined,
  () => new TransientError('try again'),
  () => new RateLimitedError({ retryAfterSeconds: 60 }),
  () => new PermanentError('never'),
  () => new UnauthorizedError('bad credentials'),
  () => new CursorExpiredError('too old'),
];

function failingConnector() {
  const calls = new Map<string, number>();
  return connector(({ connection, cursor }: SyncContext): SyncResult => {
    const call = (calls.get(connection.id) ?? 0) + 1;
    calls.set(connection.id, call);
    const error = errors[Number(connection.externalId)]?.();
    if (error && call % 3 === 2 && call < 10) throw error;
    const after = (cursor as number | undefined) ?? 0;
    const page = items.slice(after, after + 5);
    return {
      signals: page.map((item) => ({
        kind: 'item',
        occurredAt: '2025-01-01T10:00:00Z',
        payload: { item },
        dedupeKey: item,
      })),
      nextCursor: after + page.length,
      hasMore: after + page.length < items.length,
    };
  });
}

describe('the checker', () => {
  it('checker: imports nothing from the engine', () => {
    const folder = fileURLToPath(new URL('.', import.meta.url));
    const files = readdirSync(folder, { recursive: true }).map(String);
    const checked = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
    expect(checked.length).toBeGreaterThan(10);
    for (const file of checked) {
      const imported = [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/from '([^']+)'/g)].map(
        ([, from]) => from,
      );
      expect({
        file,
        imported: imported.filter(
          (from) => !/^(node:|cron-parser$|\.\.?\/(?!.*\b(src|setup)\b))/.test(String(from)),
        ),
      }).toEqual({ file, imported: [] });
    }
  });

  it('checker: has a unique name for every invariant', () => {
    expect(invariants.length).toBeGreaterThan(40);
    expect(new Set(invariants).size).toBe(invariants.length);
  });

  it('checker: finds no violation when engines schedule, run, fail and execute operator actions', async () => {
    await keepHistory(sql);
    await database.empty();
    await forgetHistory(sql);
    let nowMs = Date.parse('2025-01-01T12:00:00Z');
    const ports = { ...systemPorts, now: () => nowMs, databaseTime: () => new Date(nowMs) };
    const source = failingConnector();
    const engines = [1, 2].map(() =>
      database.engine({ ports, connectors: [source], executor: { concurrency: 3 } }),
    );
    const [engine] = engines;
    if (!engine) throw new Error('no engine');
    const { connections, jobs } = engine;
    const created = await Promise.all(
      errors.map((_, i) =>
        connections.create({
          tenantId: tenant,
          provider: 'github',
          externalId: String(i),
          metadata: { theirs: { i } },
        }),
      ),
    );
    const [first, second, third] = created.map(({ id }) => id) as [string, string, string];
    const round = async (minutes: number) => {
      await Promise.all(engines.map((candidate) => candidate.tick()));
      await Promise.all(engines.map((candidate) => candidate.drain()));
      nowMs += minutes * 60_000;
    };
    await round(1);
    await round(14);
    await connections.pause(first);
    await connections.trigger(second, { type: 'full' });
    await round(3);
    await connections.resume(first);
    await connections.setInterval(third, 300);
    await round(5);
    await connections.rewind(second, { cursor: 5 });
    await round(16);
    await connections.trigger(third);
    await connections.cancel(third);
    await connections.clearInterval(third);
    await round(600);
    const failed = (await jobs.list({ status: 'failed' })).items.at(-1);
    if (failed) await jobs.retry(failed.id);
    await round(16);
    await round(20);
    await connections.delete(first);
    for (let i = 0; i < 4; i++) {
      for (const { id } of (await connections.list({ status: 'needs_auth' })).items)
        await connections.activate(id);
      await round(60);
    }
    await round(0);

    const truth: Truth[] = created
      .filter(({ id }) => id !== first)
      .map(({ id }) => ({
        connectionId: id,
        items,
        keyOf: (payload: unknown) => (payload as { item: string }).item,
      }));
    const statuses = new Set(
      (await sql<{ status: string }>('SELECT DISTINCT status FROM sync_jobs')).map((row) => row.status),
    );
    expect([...statuses].sort()).toEqual(expect.arrayContaining(['cancelled', 'failed', 'succeeded']));
    const now = new Date(nowMs).toISOString();
    expect(await check(sql, { truth, quiet: true, now })).toEqual([]);
  });

  it('checker: finds no violation when running jobs are rewound and cancelled', async () => {
    await keepHistory(sql);
    await database.empty();
    const connection = await database.connect();
    await forgetHistory(sql);
    const { engine, untilStarted, release } = startBlockingEngine(database, (run) => run);
    await engine.start();
    await untilStarted(1);
    await engine.connections.trigger(connection);
    await engine.connections.rewind(connection, { cursor: 7 });
    await untilStarted(2);
    await engine.connections.cancel(connection);
    release();
    await engine.connections.trigger(connection);
    await untilStarted(3);
    release();
    await engine.stop();
    expect(await check(sql)).toEqual([]);
  });

  it('checker: finds no violation when a run ends after its job was reassigned to another process', async () => {
    await keepHistory(sql);
    await database.empty();
    const job = await database.job(await database.connect());
    await forgetHistory(sql);
    const releases: (() => void)[] = [];
    const start = async () => {
      const runs = connector(async () => {
        await new Promise<void>((resolve) => releases.push(resolve));
        return { signals: [signal('found')], nextCursor: releases.length };
      });
      const engine = database.engine({ connectors: [runs], executor: { concurrency: 1 } });
      await engine.start({ roles: ['executor'] });
      return engine;
    };
    const untilStarted = (runs: number) => until(`run ${runs} has started`, () => releases.length === runs);
    const first = await start();
    await untilStarted(1);
    await start();
    await sql(`UPDATE sync_jobs SET status = 'queued', process_id = NULL, claim_id = NULL WHERE id = $1`, [
      job,
    ]);
    await sql(`SELECT wake_executors('jobs')`);
    await untilStarted(2);
    releases[0]?.();
    await first.stop();
    releases[1]?.();
    await until(
      'it has succeeded',
      async () => (await sql(`SELECT FROM sync_jobs WHERE status = 'succeeded'`)).length > 0,
    );
    expect(await check(sql)).toEqual([]);
    expect(await sql('SELECT FROM signals')).toHaveLength(1);
  });
});

describe('the history', () => {
  const positions = async () => {
    const all: unknown[] = [];
    for await (const { versions } of readHistory(sql))
      all.push(...versions.map(({ after }) => (after as { external_id?: string })?.external_id));
    return all.filter((name) => name !== undefined && name !== null);
  };
  const begin = async () => {
    await keepHistory(sql);
    await database.empty();
    const ids = [await database.connect(), await database.connect()] as const;
    await forgetHistory(sql);
    return ids;
  };
  const rename = 'UPDATE syncline.connections SET external_id = $2 WHERE id = $1';

  it('checker: the history is in commit order, not write order', async () => {
    const [one, two] = await begin();
    const [a, b] = [await database.session(), await database.session()];
    await a.query('BEGIN');
    await a.query(rename, [one, 'wrote first']);
    await b.query('BEGIN');
    await b.query(rename, [two, 'wrote second']);
    await b.query('COMMIT');
    await a.query('COMMIT');
    expect(await positions()).toEqual(['wrote second', 'wrote first']);
  });

  it('checker: the history is in commit order under concurrent commits', async () => {
    const [one, two] = await begin();
    const bump = `UPDATE syncline.connections SET metadata = jsonb_set(metadata, '{n}', to_jsonb(coalesce((metadata ->> 'n')::int, 0) + 1)) WHERE id = $1`;
    const sessions = await Promise.all([1, 2, 3, 4].map(() => database.session()));
    const each = 25;
    await Promise.all(
      sessions.map(async (session, i) => {
        for (let n = 0; n < each; n++) await session.query(bump, [i % 2 ? one : two]);
      }),
    );
    // Row locks order the commits of each row.
    const counts = new Map<string, number>();
    for await (const { versions } of readHistory(sql))
      for (const { operation, after } of versions) {
        const row = after as { id: string; metadata: { n?: number } };
        if (operation !== 'UPDATE') continue;
        expect(row.metadata.n).toBe((counts.get(row.id) ?? 0) + 1);
        counts.set(row.id, row.metadata.n ?? 0);
      }
    expect(counts).toEqual(
      new Map([
        [one, 2 * each],
        [two, 2 * each],
      ]),
    );
  });

  it('checker: the history is in commit order if a commit is slow after its position was assigned', async () => {
    const [one, two] = await begin();
    // Fires after the trigger that assigns positions, and waits for an advisory lock.
    await sql(`CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END'`);
    await sql(`CREATE CONSTRAINT TRIGGER gate AFTER UPDATE ON connections DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.external_id = 'slow') EXECUTE FUNCTION wait_at_the_gate()`);
    const [gate, slow, quick] = [
      await database.session(),
      await database.session(),
      await database.session(),
    ];
    const waiting = async () =>
      (await sql(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).length;
    await gate.query('SELECT pg_advisory_lock(42)');
    const committed: string[] = [];
    const commit = (session: typeof slow, name: string) =>
      session.query('COMMIT').then(() => committed.push(name));

    await slow.query('BEGIN');
    await slow.query(rename, [one, 'first']);
    await slow.query(rename, [one, 'slow']);
    await quick.query('BEGIN');
    await quick.query(rename, [two, 'quick']);
    const first = commit(slow, 'slow');
    await until('the slow commit waits at the gate', async () => (await waiting()) === 1);
    const second = commit(quick, 'quick');
    await until(
      'the other commit waits for it, or has overtaken it',
      async () => (await waiting()) === 2 || committed.length > 0,
    );
    expect(committed).toEqual([]);
    await gate.query('SELECT pg_advisory_unlock(42)');
    await Promise.all([first, second]);
    await sql('DROP FUNCTION wait_at_the_gate CASCADE');
    expect(await positions()).toEqual(['first', 'slow', 'quick']);
  });

  it('checker: the history does not contain rolled-back writes', async () => {
    const [one, two] = await begin();
    const session = await database.session();
    await session.query('BEGIN');
    await session.query('SAVEPOINT s');
    await session.query(rename, [one, 'undone']);
    await session.query('ROLLBACK TO s');
    await session.query(rename, [two, 'kept']);
    await session.query('COMMIT');
    await session.query('BEGIN');
    await session.query(rename, [one, 'undone as well']);
    await session.query('ROLLBACK');
    expect(await positions()).toEqual(['kept']);
  });

  it('checker: the history allows a large transaction and one with a short lock timeout to commit concurrently', async () => {
    const [one] = await begin();
    const [a, b] = [await database.session(), await database.session()];
    await a.query('BEGIN');
    await a.query(
      `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
      SELECT $1, 'github', $2, 'item', now(), '{}' FROM generate_series(1, 500)`,
      [tenant, one],
    );
    await b.query(`BEGIN; SET LOCAL lock_timeout = 1`);
    await b.query(
      `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload) VALUES ($1, 'github', $2, 'item', now(), '{}')`,
      [tenant, one],
    );
    await Promise.all([a.query('COMMIT'), b.query('COMMIT')]);
    expect(await check(sql)).toEqual([]);
  });
});
