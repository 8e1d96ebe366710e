import { beforeEach, describe, expect, it } from 'vitest';
import type { Connection, Schedule, ScheduleInput } from '../../../src/index.ts';
import { timetableOf } from '../../../src/schedule/timetable.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, ended } = database;
beforeEach(() => database.empty());

const weekdaysAtSix = { cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin' };
const create = (more: object = {}) =>
  database.engine().connections.create({ tenantId: tenant, provider: 'github', ...more });
const queued = (id: string) =>
  sql<{ scheduled_at: Date }>(
    `SELECT scheduled_at FROM sync_jobs WHERE connection_id = $1 AND status = 'queued'`,
    [id],
  );
/** 06:00 in Berlin is 04:00 or 05:00 UTC. */
const isSixInBerlin = (at: Date | undefined) =>
  at !== undefined &&
  new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(at) === '06:00';

describe('connections: schedule', () => {
  it('connections: stores the normal form, with the names of the API, and returns it', async () => {
    const { id, schedule } = await create({ schedule: weekdaysAtSix });
    expect(schedule).toEqual(weekdaysAtSix);
    expect(await sql('SELECT schedule FROM connections WHERE id = $1', [id])).toEqual([
      { schedule: { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' } },
    ]);
    const { connections } = database.engine();
    const times = { timesOfDay: ['18:00', '06:00'], daysOfWeek: ['fri', 'mon'] as const };
    expect((await connections.setSchedule(id, times)).schedule).toEqual({
      timesOfDay: ['06:00', '18:00'],
      daysOfWeek: ['mon', 'fri'],
      timeZone: 'UTC',
    });
    expect((await connections.get(id)).schedule).toMatchObject({ timeZone: 'UTC' });
  });

  it('connections: an interval and a schedule cannot be combined', async () => {
    await expect(create({ intervalSeconds: 300, schedule: weekdaysAtSix })).rejects.toThrow(
      'An interval and a schedule cannot be combined.',
    );
  });

  it('connections: refuses an invalid schedule and changes nothing', async () => {
    const { id } = await create();
    const { connections } = database.engine();
    const wrong = { cron: '0 0 30 2 *' } as ScheduleInput;
    await expect(connections.setSchedule(id, wrong)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'schedule.cron',
    });
    await expect(create({ schedule: { cron: '0 6 * * *', timeZone: 'Berlin' } })).rejects.toMatchObject({
      message: 'schedule.timeZone must be an IANA time zone such as Europe/Berlin, got "Berlin".',
      hint: 'Did you mean Europe/Berlin?',
    });
    expect((await connections.list()).items.map(({ schedule }) => schedule)).toEqual([undefined]);
  });

  it('connections: a new schedule moves the waiting job to the next occurrence, and is recorded', async () => {
    const { connections } = database.engine();
    const { id } = await create();
    await ended(id, '2025-01-01T00:00:00Z');
    await database.job(id, { scheduled_at: new Date(Date.now() + 500_000).toISOString() });
    const engine = database.engine({ scheduler: { jitterPctMax: 0 } });
    const changed = await engine.connections.setSchedule(id, weekdaysAtSix, { reason: 'office hours' });
    const [job] = await queued(id);
    expect(isSixInBerlin(job?.scheduled_at)).toBe(true);
    expect(isSixInBerlin(changed.sync.nextRunAt)).toBe(true);
    // Another run is placed if this job is brought forward.
    expect(changed.sync.nextRunAt).toEqual(job?.scheduled_at);
    expect(await connections.events(id, { limit: 1 })).toMatchObject([
      { kind: 'connection.schedule_changed', reason: 'office hours' },
    ]);
    expect(await sql(`SELECT detail FROM events WHERE kind = 'connection.schedule_changed'`)).toEqual([
      { detail: { from: null, to: { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' } } },
    ]);
  });

  it('connections: null returns to the interval, as does a new interval', async () => {
    const { connections } = database.engine();
    const { id } = await create({ intervalSeconds: 300 });
    await ended(id, new Date().toISOString());
    const inMs = ({ sync }: Connection) => (sync.nextRunAt?.getTime() ?? 0) - Date.now();
    const yearly = { cron: '0 0 29 2 *' };
    expect(inMs(await connections.setSchedule(id, yearly))).toBeGreaterThan(86_400_000);
    const back = await connections.setSchedule(id, null);
    expect(back).toMatchObject({ schedule: undefined, sync: { intervalSeconds: 300 } });
    expect(inMs(back)).toBeLessThanOrEqual(300_000);
    await connections.setSchedule(id, yearly);
    const faster = await connections.setInterval(id, 60);
    expect(faster).toMatchObject({ schedule: undefined, sync: { intervalSeconds: 60 } });
    expect(inMs(faster)).toBeLessThanOrEqual(60_000);
  });

  it('connections: preview and explanation follow the schedule', async () => {
    const { connections } = database.engine({ scheduler: { jitterPctMax: 0 } });
    const { id } = await create();
    await ended(id, new Date().toISOString());
    await connections.setSchedule(id, weekdaysAtSix);
    const { runs } = await connections.preview(id, { runs: 7 });
    expect(runs).toHaveLength(7);
    expect(runs.filter(({ earliest }) => !isSixInBerlin(earliest))).toEqual([]);
    expect(runs.filter(({ earliest }) => [0, 6].includes(earliest.getUTCDay()))).toEqual([]);
    expect((await connections.explain(id)).sentence).toContain(
      'By schedule: cron 0 6 * * 1-5, Europe/Berlin.',
    );
  });

  it('DB-3: an invalid schedule of another writer is listed and counts as absent', async () => {
    const { id } = await create();
    await sql(`UPDATE connections SET schedule = '{"cron": "at six"}' WHERE id = $1`, [id]);
    const { schedule, sync } = await database.engine().connections.get(id);
    expect(schedule).toBeUndefined();
    expect(sync.invalid).toMatchObject([{ field: 'schedule', value: '{"cron":"at six"}' }]);
  });
});

describe('connections: repair of schedules', () => {
  const writeNextRun = (id: string, at: Date) =>
    sql(
      `UPDATE connections SET metadata = jsonb_build_object('sync', jsonb_build_object('next_run_at', $2::text)) WHERE id = $1`,
      [id, at.toISOString()],
    );

  it('DB-6: the second next occurrence is never too far ahead, a month more is for a daily run', async () => {
    const { connections } = database.engine();
    const crons = [
      '* * * * *',
      '0 6 * * 1',
      '0 0 * * 5#5',
      '0 0 31 * *',
      '0 0 L * *',
      '0 0 1 1 *',
      '0 0 15W * 1',
    ];
    const schedules = [...crons.map((cron) => ({ cron })), { timesOfDay: ['06:00'], daysOfWeek: ['mon'] }];
    for (const schedule of schedules) {
      const { id, ...created } = await create({ schedule });
      await ended(id, new Date().toISOString());
      const { afterNextMs } = timetableOf(created.schedule as Schedule).around(Date.now());
      await writeNextRun(id, new Date(afterNextMs));
    }
    // `skipped` counts connections that SQL found and the exact limits did not.
    expect(await connections.repairSchedule({ dryRun: true })).toMatchObject({ items: [], skipped: 0 });
    const { id } = await create({ schedule: weekdaysAtSix });
    await ended(id, new Date().toISOString());
    await writeNextRun(id, new Date(Date.now() + 30 * 86_400_000));
    const { items } = await connections.repairSchedule({ dryRun: true });
    expect(items.map((item) => item.id)).toEqual([id]);
  });

  it('DB-6: re-places a run far ahead at an occurrence, and keeps a yearly one', async () => {
    const { connections } = database.engine();
    const { id } = await create({ schedule: weekdaysAtSix });
    const { id: yearly } = await create({ schedule: { cron: '0 0 1 1 *' } });
    for (const one of [id, yearly]) await ended(one, new Date().toISOString());
    const { sync } = await connections.setSchedule(yearly, { cron: '0 0 1 1 *' });
    await sql(
      `UPDATE connections SET metadata = '{"sync": {"next_run_at": "2999-01-01T00:00:00Z"}}' WHERE id = $1`,
      [id],
    );
    const { items } = await connections.repairSchedule();
    expect(items.map((item) => item.id)).toEqual([id]);
    expect(isSixInBerlin((await connections.get(id)).sync.nextRunAt)).toBe(true);
    expect((await connections.get(yearly)).sync.nextRunAt).toEqual(sync.nextRunAt);
  });
});
