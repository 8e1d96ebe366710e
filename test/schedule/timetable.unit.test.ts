import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSchedule } from '../../src/schedule/parse-schedule.ts';
import { readTimetable, type Timetable, timetableOf } from '../../src/schedule/timetable.ts';
import { sized } from '../support/size.ts';

const minute = 60_000;
const day = 86_400_000;
const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC'];
/** A transition of each zone that has them, and an ordinary day. */
const days = [
  '2026-03-08',
  '2026-03-29',
  '2026-10-04',
  '2026-10-25',
  '2026-11-01',
  '2027-04-04',
  '2028-02-29',
];

function timetable(input: unknown): Timetable {
  const { schedule, problem } = parseSchedule(input);
  if (!schedule) throw new Error(JSON.stringify(problem));
  return timetableOf(schedule);
}

const upcoming = (schedule: unknown, from: string, count: number) => {
  const { around } = timetable(schedule);
  const found: string[] = [];
  for (let ms = Date.parse(from); found.length < count; ) {
    ms = around(ms).nextMs;
    found.push(new Date(ms).toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
};

describe('SCH-12: daylight saving time', () => {
  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', ['2026-03-08T07:00Z', '2026-03-09T06:30Z']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
  ])('SCH-12: %s in %s runs once at the end of the gap', (cron, timeZone, from, expected) => {
    expect(upcoming({ cron, timeZone }, from, 2)).toEqual(expected);
  });

  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T05:30Z', '2026-11-02T06:30Z']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2027-04-03T00:00Z', ['2027-04-03T14:45Z', '2027-04-04T15:15Z']],
    ['0 * * * *', 'Europe/Berlin', '2026-10-24T23:30Z', ['2026-10-25T00:00Z', '2026-10-25T02:00Z']],
  ])('SCH-12: %s in %s runs at the first pass of a repeated time', (cron, timeZone, from, expected) => {
    expect(upcoming({ cron, timeZone }, from, 2)).toEqual(expected);
  });

  it('SCH-12: in the second pass, the latest occurrence is that of the first', () => {
    const { around } = timetable({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' });
    const { latestMs } = around(Date.parse('2026-10-25T01:10:00Z'));
    expect(new Date(latestMs).toISOString()).toBe('2026-10-25T00:30:00.000Z');
  });
});

/** Local minutes of a range, from the clock of the zone; independent of the mapping under test. */
function localMinutes(timeZone: string, fromMs: number, toMs: number) {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'short',
    hourCycle: 'h23',
  });
  const minutes: { ms: number; wall: number }[] = [];
  for (let ms = fromMs; ms < toMs; ms += minute) {
    const [d, mo, y, h, mi] = format.format(ms).split(/\D+/).map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    minutes.push({ ms, wall: Date.UTC(y, mo - 1, d, h, mi) });
  }
  return minutes;
}

/** Every wall minute that matches runs when the clock first shows it or, in a gap, a later one. */
function naiveOccurrences(times: string[], minutes: { ms: number; wall: number }[]): number[] {
  const found = new Set<number>();
  const first = minutes[0]?.wall ?? 0;
  const last = minutes.at(-1)?.wall ?? 0;
  for (let wall = first; wall <= last; wall += minute) {
    if (!times.includes(new Date(wall).toISOString().slice(11, 16))) continue;
    const shown = minutes.find((at) => at.wall >= wall);
    if (shown) found.add(shown.ms);
  }
  return [...found];
}

const anyTime = fc
  .tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom(0, 1, 15, 30, 45, 59))
  .map(([h, m]) => `${String(h).padStart(2, '0')}:${String(m).padStart(2, '0')}`);

describe('SCH-12: occurrences', () => {
  it('SCH-12: agree with a minute-by-minute walk over days with transitions', () => {
    const anyCase = fc.record({
      timeZone: fc.constantFrom(...zones),
      date: fc.constantFrom(...days),
      times: fc.uniqueArray(anyTime, { minLength: 1, maxLength: 4 }),
      offset: fc.integer({ min: 0, max: 2 * day }),
    });
    const walks = new Map<string, { ms: number; wall: number }[]>();
    fc.assert(
      fc.property(anyCase, ({ timeZone, date, times, offset }) => {
        const fromMs = Date.parse(date) - 3 * day;
        const key = `${timeZone} ${date}`;
        const minutes = walks.get(key) ?? localMinutes(timeZone, fromMs, fromMs + 6 * day);
        walks.set(key, minutes);
        const all = naiveOccurrences(times, minutes);
        const nowMs = fromMs + 2 * day + offset;
        const { latestMs, nextMs, afterNextMs } = timetable({ timesOfDay: times, timeZone }).around(nowMs);
        const [next, afterNext] = all.filter((ms) => ms > nowMs);
        expect([latestMs, nextMs, afterNextMs]).toEqual([all.findLast((ms) => ms <= nowMs), next, afterNext]);
      }),
      { numRuns: sized(150, 50) },
    );
  });

  it('SCH-12: times of day equal the cron expression for them', () => {
    const anyCase = fc.record({
      timeZone: fc.constantFrom(...zones),
      date: fc.constantFrom(...days),
      hours: fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 4 }),
      mins: fc.integer({ min: 0, max: 59 }),
      weekdays: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 7 }),
      offset: fc.integer({ min: -3 * day, max: 3 * day }),
    });
    const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    fc.assert(
      fc.property(anyCase, ({ timeZone, date, hours, mins, weekdays, offset }) => {
        const nowMs = Date.parse(date) + offset;
        const cron = `${mins} ${hours.join(',')} * * ${weekdays.join(',')}`;
        const timesOfDay = hours.map((h) => `${String(h).padStart(2, '0')}:${String(mins).padStart(2, '0')}`);
        const daysOfWeek = weekdays.map((index) => names[index - 1]);
        expect(timetable({ timesOfDay, daysOfWeek, timeZone }).around(nowMs)).toEqual(
          timetable({ cron, timeZone }).around(nowMs),
        );
      }),
      { numRuns: sized(150, 50) },
    );
  });

  it('SCH-12: agree with cron-parser on the syntax that both parsers share, in UTC', () => {
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constant('*'),
        fc.integer({ min: 2, max: Math.min(max, 15) }).map((step) => `*/${step}`),
        fc
          .uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 })
          .map((list) => list.join(',')),
        fc
          .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
          .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
      );
    const anyCron = fc
      .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), fc.oneof(fc.constant('*'), field(1, 5)))
      .map((fields) => fields.join(' '));
    const anyNow = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) });
    fc.assert(
      fc.property(anyCron, anyNow, (cron, nowMs) => {
        const { latestMs, nextMs } = timetable({ cron }).around(nowMs);
        const options = { tz: 'UTC', currentDate: new Date(nowMs) };
        expect(nextMs).toBe(CronExpressionParser.parse(cron, options).next().getTime());
        const before = { tz: 'UTC', currentDate: new Date(nowMs + 1) };
        expect(latestMs).toBe(CronExpressionParser.parse(cron, before).prev().getTime());
      }),
      { numRuns: sized(200, 70) },
    );
  });

  it('SCH-12: the answer does not depend on earlier questions', () => {
    const schedule = { cron: '*/30 2-5 * * *', timeZone: 'Europe/Berlin' };
    const shared = timetable(schedule);
    const anyNow = fc.integer({ min: Date.UTC(2026, 2, 27), max: Date.UTC(2026, 2, 31) });
    fc.assert(
      fc.property(anyNow, (nowMs) => {
        expect(shared.around(nowMs)).toEqual(timetable(schedule).around(nowMs));
      }),
    );
  });
});

describe('SCH-12: the column', () => {
  it('SCH-12: reads what the API writes, and null as absent', () => {
    const text = '{"cron": "0 6 * * 1-5", "time_zone": "Europe/Berlin"}';
    expect(readTimetable(text).timetable?.schedule).toEqual({
      cron: '0 6 * * 1-5',
      timeZone: 'Europe/Berlin',
    });
    expect(readTimetable(null)).toEqual({});
    expect(readTimetable('null')).toEqual({});
    expect(readTimetable('{"cron": "@daily", "time_zone": null}').timetable?.schedule).toEqual({
      cron: '0 0 * * *',
      timeZone: 'UTC',
    });
  });

  it('DB-3: any JSON in the column is a schedule or one invalid field', () => {
    const anyText = fc.oneof(
      fc.json(),
      fc.string(),
      fc.record({ cron: fc.anything(), time_zone: fc.anything() }).map((value) => JSON.stringify(value)),
      fc
        .record({ times_of_day: fc.anything(), days_of_week: fc.anything() })
        .map((value) => JSON.stringify(value)),
      fc.string({ maxLength: 20 }).map((cron) => JSON.stringify({ cron })),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        const { timetable: read, invalid } = readTimetable(text ?? 'null');
        if (invalid) expect(invalid).toMatchObject({ field: 'schedule' });
        else if (read) expect(read.around(0).nextMs).toBeGreaterThan(0);
      }),
      { numRuns: sized(300, 100) },
    );
  });
});
