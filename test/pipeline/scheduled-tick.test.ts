import { beforeEach, describe, expect, it } from 'vitest';
import type { SynclineOptions } from '../../src/index.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql, ended } = database;
beforeEach(() => database.empty());

const weekdaysAtSix = { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' };
const noJitter = { scheduler: { jitterPctMax: 0 } };

/** A Berlin connection whose last run ended at `last` and whose next run is `next`. */
async function connect({ schedule = weekdaysAtSix as unknown, last, next }: Record<string, unknown>) {
  const metadata = { sync: next === undefined ? {} : { next_run_at: next } };
  const columns = { metadata, schedule } as object;
  const id = await database.connect(columns);
  if (last !== undefined) await ended(id, String(last));
  return id;
}
const tick = (at: string, options: SynclineOptions = noJitter) =>
  database.engine(options).tick({ at: new Date(at) });

interface State {
  scheduled_at: Date | null;
  next_run_at: string;
  schedule: unknown;
}
async function stateOf(id: string): Promise<State> {
  const [row] = await sql<State>(
    `SELECT c.metadata #>> '{sync,next_run_at}' AS next_run_at, c.schedule,
       (SELECT scheduled_at FROM sync_jobs j WHERE j.connection_id = c.id AND j.status = 'queued')
     FROM connections c WHERE c.id = $1`,
    [id],
  );
  return row as State;
}
const placed = async (id: string) => {
  const { scheduled_at, next_run_at } = await stateOf(id);
  return [scheduled_at?.toISOString(), next_run_at];
};

describe('SCH-12: a connection with a schedule', () => {
  it('SCH-12: a tick just before the occurrence places it on time', async () => {
    const id = await connect({ last: '2026-11-16T05:00:10Z', next: '2026-11-17T05:00:00Z' });
    expect(await tick('2026-11-17T04:58:59Z')).toMatchObject({ scheduled: 0 });
    expect(await tick('2026-11-17T04:59:30Z')).toMatchObject({ scheduled: 1 });
    expect(await placed(id)).toEqual(['2026-11-17T05:00:00.000Z', '2026-11-18T05:00:00.000Z']);
  });

  it('SCH-6: the first run is due immediately, the next one at the next occurrence', async () => {
    const id = await connect({});
    await tick('2026-11-20T12:00:00Z');
    expect(await placed(id)).toEqual(['2026-11-20T12:00:00.000Z', '2026-11-23T05:00:00.000Z']);
  });

  it.each([
    ['an hour', '2026-11-17T06:00:00Z', '2026-11-17T05:00:00.000Z', '2026-11-18T05:00:00.000Z'],
    ['a week', '2026-11-24T06:00:00Z', '2026-11-24T05:00:00.000Z', '2026-11-25T05:00:00.000Z'],
    ['ten years', '2036-11-18T06:00:00Z', '2036-11-18T05:00:00.000Z', '2036-11-19T05:00:00.000Z'],
  ])('SCH-5: an outage of %s places one job, at the latest occurrence', async (_, now, slot, next) => {
    const id = await connect({ last: '2026-11-16T05:00:10Z', next: '2026-11-17T05:00:00Z' });
    expect(await tick(now)).toMatchObject({ scheduled: 1, backlog: 1 });
    expect(await placed(id)).toEqual([slot, next]);
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = $1 WHERE status = 'queued'`, [now]);
    expect(await tick(now)).toMatchObject({ scheduled: 0 });
  });

  it('SCH-5: occurrences before next_run_at are not caught up', async () => {
    const id = await connect({ last: '2026-11-10T05:00:00Z', next: '2026-11-17T05:00:00Z' });
    await tick('2026-11-17T04:59:30Z');
    expect(await placed(id)).toEqual(['2026-11-17T05:00:00.000Z', '2026-11-18T05:00:00.000Z']);
  });

  it('SCH-12: an occurrence more than a tick ahead gets no job; only next_run_at moves to it', async () => {
    // A run that was triggered at 05:59 local time ended after the occurrence.
    const id = await connect({ last: '2026-11-17T05:00:20Z', next: '2026-11-17T05:00:00Z' });
    expect(await tick('2026-11-17T05:01:00Z')).toMatchObject({ scheduled: 0, skippedPending: 0 });
    expect(await placed(id)).toEqual([undefined, '2026-11-18T05:00:00.000Z']);
    expect(await tick('2026-11-18T04:59:30Z')).toMatchObject({ scheduled: 1 });
    expect(await placed(id)).toEqual(['2026-11-18T05:00:00.000Z', '2026-11-19T05:00:00.000Z']);
  });

  it('SCH-12: a run that lasts beyond several occurrences is followed by the next one only', async () => {
    const id = await connect({ last: '2026-11-16T05:00:10Z', next: '2026-11-17T05:00:00Z' });
    await tick('2026-11-17T05:00:00Z');
    expect(await tick('2026-11-19T06:00:00Z')).toMatchObject({ scheduled: 0, skippedPending: 1 });
    await sql(
      `UPDATE sync_jobs SET status = 'succeeded', finished_at = '2026-11-19T07:00:00Z' WHERE status = 'queued'`,
    );
    expect(await tick('2026-11-19T07:00:30Z')).toMatchObject({ scheduled: 0 });
    expect(await placed(id)).toEqual([undefined, '2026-11-20T05:00:00.000Z']);
  });

  it('SCH-12: a skipped local time runs at the end of the gap, a repeated one once', async () => {
    const schedule = { cron: '30 2 * * *', time_zone: 'Europe/Berlin' };
    const spring = await connect({ schedule, last: '2026-03-28T01:30:05Z', next: '2026-03-29T01:00:00Z' });
    await tick('2026-03-29T01:00:00Z');
    expect(await placed(spring)).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
    const autumn = await connect({ schedule, last: '2026-10-25T00:30:05Z', next: '2026-10-26T01:30:00Z' });
    expect(await tick('2026-10-25T01:30:00Z')).toMatchObject({ scheduled: 0 });
    await tick('2026-10-26T01:30:00Z');
    expect(await placed(autumn)).toEqual(['2026-10-26T01:30:00.000Z', '2026-10-27T01:30:00.000Z']);
  });

  it('SCH-12: jitter is a share of the default interval, not of a day', async () => {
    const id = await connect({ last: '2026-11-16T05:00:10Z', next: '2026-11-17T05:00:00Z' });
    await tick('2026-11-17T05:00:00Z', { scheduler: { jitterPctMin: 0.2, jitterPctMax: 0.2 } });
    expect((await placed(id))[0]).toBe('2026-11-17T05:03:00.000Z');
  });

  it('SCH-7: two schedulers place one job', async () => {
    await connect({ last: '2026-11-16T05:00:10Z', next: '2026-11-17T05:00:00Z' });
    const ticks = await Promise.all([tick('2026-11-17T05:00:00Z'), tick('2026-11-17T05:00:00Z')]);
    expect(ticks.reduce((sum, { scheduled }) => sum + scheduled, 0)).toBe(1);
  });
});

const long = 'x'.repeat(1_000_000);

describe('DB-3: a schedule written by another service', () => {
  it.each([
    ['a number', 42],
    ['text', '"daily"'],
    ['an array', [weekdaysAtSix]],
    ['an empty object', {}],
    ['an invalid expression', { cron: 'at six' }],
    ['seconds', { cron: '*/10 * * * * *' }],
    ['a date that does not exist', { cron: '0 0 30 2 *' }],
    ['an unknown time zone', { cron: '0 6 * * *', time_zone: 'Mars/Olympus' }],
    ['an unknown key', { cron: '0 6 * * *', timezone: 'UTC' }],
    ['a megabyte', { cron: long }],
    ['a megabyte of times', { times_of_day: Array.from({ length: 100_000 }, () => '06:00') }],
  ])('DB-3: %s counts as absent, is logged once and reset', async (_, schedule) => {
    const { log: logger, lines } = recordingLogger();
    const id = await connect({ schedule, last: '2026-11-17T11:45:00Z', next: '2026-11-17T12:00:00Z' });
    const other = await connect({ last: '2026-11-16T05:00:10Z', next: '2026-11-17T05:00:00Z' });
    const options = { ...noJitter, logger };
    expect(await tick('2026-11-17T12:00:00Z', options)).toMatchObject({ scheduled: 2, invalidMetadata: 1 });
    expect(await placed(id)).toEqual(['2026-11-17T12:00:00.000Z', '2026-11-17T12:15:00.000Z']);
    expect((await stateOf(id)).schedule).toBeNull();
    expect((await stateOf(other)).schedule).toEqual(weekdaysAtSix);
    const warnings = lines.filter(({ level }) => level === 'warn');
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings).length).toBeLessThan(2000);
    await ended(id, '2026-11-17T12:00:30Z');
    await sql(`DELETE FROM sync_jobs WHERE status = 'queued'`);
    expect(await tick('2026-11-17T12:15:00Z', options)).toMatchObject({ invalidMetadata: 0 });
  });

  it('DB-3: JSON null counts as no schedule without a warning', async () => {
    const id = await database.connect();
    await sql(`UPDATE connections SET schedule = 'null' WHERE id = $1`, [id]);
    expect(await tick('2026-11-17T12:00:00Z')).toMatchObject({ scheduled: 1, invalidMetadata: 0 });
  });
});
