import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RepairedConnection } from '../../../src/api/connections/results.ts';
import { defineConnector, type Syncline, type SynclineOptions } from '../../../src/index.ts';
import { finding, findingsIn } from '../../doctor/findings.ts';
import { startService } from '../../http/service.ts';
import { tenant, useDatabase } from '../../support/database.ts';
import { runCli } from '../../support/process.ts';

const database = useDatabase();
const { sql, connect, job } = database;
const other = randomUUID();

beforeEach(async () => {
  await database.empty();
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [other]);
});

const second = 1000;
const day = 24 * 3600 * second;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const noJitter: SynclineOptions = { scheduler: { jitterPctMax: 0 } };

/** A connection whose last run ended ten minutes ago, with metadata keys of other writers. */
async function addConnection(nextRunAt: string, { interval = undefined as unknown, tenantId = tenant } = {}) {
  const sync = { next_run_at: nextRunAt, interval_seconds: interval, cursor: { page: 7 }, theirs: 'x' };
  const id = await connect({ metadata: { mine: [1], sync } });
  await sql('UPDATE connections SET tenant_id = $2 WHERE id = $1', [id, tenantId]);
  await database.ended(id, inMs(-600 * second));
  return id;
}

interface Stored {
  metadata: { mine: unknown; sync: Record<string, unknown> };
  waits_for_job: boolean;
}
const stored = async (id: string) => {
  const [row] = await sql<Stored>('SELECT metadata, waits_for_job FROM connections WHERE id = $1', [id]);
  return row as Stored;
};
const nextRunOf = async (id: string) => Date.parse(String((await stored(id)).metadata.sync['next_run_at']));
const jobOf = async (id: string) => {
  const [row] = await sql<{ scheduled_at: Date; retry_after: Date | null; status: string }>(
    'SELECT scheduled_at, retry_after, status FROM sync_jobs WHERE id = $1',
    [id],
  );
  return row;
};

async function repairAll({ connections }: Pick<Syncline, 'connections'>, limit = 100) {
  const items: RepairedConnection[] = [];
  let skipped = 0;
  for (let cursor: string | undefined; ; ) {
    const step = await connections.repairSchedule({ cursor, limit });
    items.push(...step.items);
    skipped += step.skipped;
    if (step.nextCursor === undefined) return { items, skipped, ids: items.map(({ id }) => id).sort() };
    cursor = step.nextCursor;
  }
}

const check = async (engine: Syncline) => findingsIn(await engine.doctor(), 'times too far ahead');
const attention = async ({ stats }: Pick<Syncline, 'stats'>) =>
  (await stats.attention()).filter(({ cause }) => cause === 'too_far_ahead');

describe('DB-6: times too far ahead', () => {
  it('DB-6: doctor and the attention list report connections and jobs of a process 400 days ahead', async () => {
    const engine = database.engine();
    const fine = await addConnection(inMs(300 * second));
    await job(fine, { scheduled_at: inMs(60 * second) });
    await job(await addConnection(inMs(300 * second)), { retry_after: inMs(7 * day) });
    expect(await check(engine)).toEqual([]);
    expect(await attention(engine)).toEqual([]);

    const at = inMs(400 * day);
    const wrong = await addConnection(at);
    const job1 = await job(await addConnection(inMs(300 * second)), { scheduled_at: inMs(400 * day) });
    const job2 = await job(await addConnection(inMs(300 * second)), { retry_after: inMs(401 * day) });
    expect(await check(engine)).toEqual([
      finding(
        'error',
        new RegExp(
          `^1 active connection has a next_run_at further ahead .*up to ${at} \\(such as ${wrong}\\)`,
        ),
        /^syncline schedule repair --dry-run; syncline schedule repair$/,
      ),
      finding(
        'error',
        new RegExp(`^2 queued jobs have .*\\(such as ${job2}, ${job1}\\)`),
        /syncline schedule repair/,
      ),
    ]);
    const item = {
      cause: 'too_far_ahead',
      count: 3,
      atLeast: false,
      message: expect.stringContaining(wrong),
      remedy: expect.stringContaining('syncline schedule repair'),
    };
    expect(await attention(engine)).toEqual([expect.objectContaining(item)]);
    expect(await attention(engine.as({ tenantId: tenant, actor: 'them' }))).toEqual([
      expect.objectContaining({ cause: 'too_far_ahead', count: 3 }),
    ]);
    expect(await attention(engine.as({ tenantId: other, actor: 'others' }))).toEqual([]);
  });

  it('DB-6: doctor uses the interval of the scheduler', async () => {
    const engine = database.engine();
    // A run that just ended may place the next one up to two intervals ahead.
    const allowed = [
      [1800, undefined],
      [1800, '300'],
      [1800, 300.5],
      [1800, 59],
      [1800, 1e9],
      [1800, null],
      [600, 300],
      [2 * 86_400, 86_400],
    ] as const;
    for (const [seconds, interval] of allowed) await addConnection(inMs(seconds * second), { interval });
    expect(await check(engine)).toEqual([]);
    expect((await repairAll(engine)).ids).toEqual([]);
    const wrong = [
      await addConnection(inMs(1800 * second), { interval: 300 }),
      await addConnection(inMs(86_400 * second), { interval: 1e9 }),
      await addConnection(inMs(86_400 * second), { interval: '86400' }),
    ].sort();
    expect(await check(engine)).toEqual([
      finding('error', /^3 active connections have a next_run_at/, /repair/),
    ]);
    expect((await repairAll(engine)).ids).toEqual(wrong);
    expect(await check(engine)).toEqual([]);
  });

  it('DB-6: repair reschedules only connections too far ahead, and the next tick runs them', async () => {
    const ran: string[] = [];
    const github = defineConnector({
      provider: 'github',
      name: 'GitHub',
      sync: async ({ connection }) => {
        ran.push(connection.id);
        return { signals: [] };
      },
    });
    const engine = database.engine({ ...noJitter, connectors: [github] });
    const fine = await addConnection(inMs(300 * second));
    const paused = await addConnection(inMs(400 * day));
    await sql(`UPDATE connections SET status = 'paused' WHERE id = $1`, [paused]);
    const [fineBefore, pausedBefore] = [await stored(fine), await stored(paused)];

    const late = await addConnection(inMs(400 * day), { interval: 300 });
    const early = await addConnection(inMs(400 * day));
    // The wrong clock also wrote the end of its last run.
    const ended = await addConnection(inMs(400 * day));
    await database.ended(ended, inMs(399 * day));
    const fresh = await connect({ metadata: { sync: { next_run_at: inMs(400 * day) } } });
    const startedMs = Date.now();
    const { ids, skipped } = await repairAll(engine, 2);
    expect(ids).toEqual([late, early, ended, fresh].sort());
    expect(skipped).toBe(0);

    // SCH-5 with a last run ten minutes ago: 300 s gives the current slot, 900 s one in five minutes.
    expect(await nextRunOf(late)).toBeLessThanOrEqual(Date.now());
    expect(await nextRunOf(late)).toBeGreaterThan(startedMs - 300 * second);
    expect(Math.abs((await nextRunOf(early)) - startedMs - 300 * second)).toBeLessThan(120 * second);
    expect(await nextRunOf(ended)).toBeGreaterThanOrEqual(startedMs + 900 * second);
    expect(await nextRunOf(ended)).toBeLessThanOrEqual(Date.now() + 900 * second);
    expect(await nextRunOf(fresh)).toBeLessThanOrEqual(Date.now());
    expect(await stored(fine)).toEqual(fineBefore);
    expect(await stored(paused)).toEqual(pausedBefore);
    expect((await stored(late)).metadata).toMatchObject({
      mine: [1],
      sync: { interval_seconds: 300, cursor: { page: 7 }, theirs: 'x' },
    });
    const [event] = (await engine.audit.list({ connectionId: late })).items;
    expect(event).toMatchObject({ kind: 'connection.schedule_repaired', actor: 'api' });

    expect((await engine.tick()).scheduled).toBe(2);
    await engine.drain();
    expect(ran.sort()).toEqual([late, fresh].sort());
    expect((await repairAll(engine)).ids).toEqual([]);
  });

  it('DB-6: repair moves placed runs to their slot and all other queued jobs to now', async () => {
    const engine = database.engine(noJitter);
    const placedOf = await addConnection(inMs(415 * day));
    const placed = await job(placedOf, { scheduled_at: inMs(400 * day) });
    const triggered = await job(await addConnection(inMs(300 * second)), {
      scheduled_at: inMs(400 * day),
      priority: 10,
    });
    const full = await job(await addConnection(inMs(300 * second)), {
      scheduled_at: 'infinity',
      job_type: 'full',
    });
    const retriedOf = await addConnection(inMs(400 * day));
    const retried = await job(retriedOf, { retry_after: inMs(400 * day), attempts: 3 });
    const parked = await job(await addConnection(inMs(300 * second)), { retry_after: inMs(7 * day) });
    const parkedBefore = await jobOf(parked);
    const startedMs = Date.now();
    expect((await repairAll(engine)).items.flatMap(({ jobIds }) => jobIds).sort()).toEqual(
      [placed, triggered, full, retried].sort(),
    );
    const nowMs = Date.now();
    const placedMs = (await jobOf(placed))?.scheduled_at.getTime() ?? Number.NaN;
    expect(placedMs).toBeGreaterThan(startedMs);
    expect(placedMs).toBeLessThanOrEqual(nowMs + 300 * second);
    expect(await nextRunOf(placedOf)).toBe(placedMs + 900 * second);
    for (const id of [triggered, full])
      expect((await jobOf(id))?.scheduled_at.getTime()).toBeLessThanOrEqual(nowMs);
    // EXE-7: after three failures 20 s, plus up to 10 % jitter.
    const retryMs = (await jobOf(retried))?.retry_after?.getTime() ?? Number.NaN;
    expect(retryMs).toBeGreaterThanOrEqual(startedMs + 20 * second);
    expect(retryMs).toBeLessThanOrEqual(nowMs + 22 * second);
    // Its job is pending, so the next run is an interval away.
    expect(await nextRunOf(retriedOf)).toBeGreaterThanOrEqual(startedMs + 900 * second);
    expect(await jobOf(parked)).toEqual(parkedBefore);
    expect(await check(engine)).toEqual([]);
  });

  it('DB-6: a dry run changes nothing', async () => {
    const engine = database.engine();
    const id = await addConnection(inMs(400 * day));
    const before = await stored(id);
    const step = await engine.connections.repairSchedule({ dryRun: true });
    expect(step.items).toEqual([expect.objectContaining({ id, tenantId: tenant, provider: 'github' })]);
    expect(await stored(id)).toEqual(before);
    expect((await engine.audit.list({ connectionId: id })).items).toEqual([]);
  });

  it('DB-6: repair skips and reports a connection locked by another transaction', async () => {
    const engine = database.engine();
    const [held, free] = [await addConnection(inMs(400 * day)), await addConnection(inMs(400 * day))];
    const session = await database.session();
    await session.query('BEGIN');
    await session.query('SELECT FROM syncline.connections WHERE id = $1 FOR UPDATE', [held]);
    expect(await repairAll(engine)).toMatchObject({ ids: [free], skipped: 1 });
    await session.query('ROLLBACK');
    expect(await repairAll(engine)).toMatchObject({ ids: [held], skipped: 0 });
  });

  it('DB-6: over HTTP a tenant key repairs only its own connections', async () => {
    const { call, syncline } = await startService(database);
    const mine = await addConnection(inMs(400 * day));
    const theirs = await addConnection(inMs(400 * day), { tenantId: other });
    const before = await stored(theirs);
    const { key } = await syncline.keys.create({ name: 'mine', tenantId: tenant });
    const listed = await call('/v1/stats/attention', { key });
    expect(listed.body.items).toEqual([expect.objectContaining({ cause: 'too_far_ahead', count: 1 })]);
    const repair = { method: 'POST', json: { reason: 'a wrong clock' } };
    const answer = await call('/v1/connections/repair-schedule', { ...repair, key });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      items: [
        {
          connection_id: mine,
          tenant_id: tenant,
          provider: 'github',
          next_run_at: { from: expect.any(String), to: expect.any(String) },
          job_ids: [],
        },
      ],
      skipped: 0,
      next_cursor: null,
    });
    expect(await stored(theirs)).toEqual(before);
    const all = await call('/v1/connections/repair-schedule', { method: 'POST' });
    expect(all.body.items.map((item) => item['connection_id'])).toEqual([theirs]);
  });

  it('DB-6: syncline schedule repair reschedules connections of one or all tenants', async () => {
    const env = { SYNCLINE_DATABASE_URL: database.url };
    const mine = await addConnection(inMs(400 * day));
    const theirs = await addConnection(inMs(400 * day), { tenantId: other });
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCli(['schedule', 'repair', ...args], { env });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    expect(await run('--dry-run')).toMatch(/Would reschedule 2 connections and 0 jobs\.\n$/);
    expect(JSON.parse(await run('--tenant', tenant, '--json'))).toMatchObject({
      dry_run: false,
      connections: 1,
      jobs: 0,
      skipped: 0,
      items: [{ connection_id: mine }],
    });
    const text = await run('--reason', 'host 7');
    expect(text).toContain(theirs);
    expect(text).toMatch(/Rescheduled 1 connection and 0 jobs\.\n$/);
    const [event] = (await database.engine().audit.list({ connectionId: theirs })).items;
    expect(event).toMatchObject({ reason: 'host 7', actor: expect.stringMatching(/^cli:/) });
    expect(await run()).toBe('Nothing to repair.\n');
  });
});
