import { describe, expect, it } from 'vitest';
import { refusalMessage } from '../../src/contract/errors.ts';
import { parseSchedule } from '../../src/schedule/parse-schedule.ts';
import { scheduleColumn, weekdays } from '../../src/schedule/schedule.ts';
import { maxScheduleLength } from '../../src/values/limits.ts';

const message = (input: unknown) => {
  const { problem } = parseSchedule(input);
  return problem && [refusalMessage(problem), problem.hint].filter(Boolean).join(' ');
};
const fiveFields = 'a cron expression of five fields (minute, hour, day, month, weekday)';

describe('schedule: invalid input', () => {
  it.each([
    [
      { cron: '60 * * * *' },
      `schedule.cron must be ${fiveFields}, got "60 * * * *". Invalid value for minute: 60.`,
    ],
    [{ cron: '0 0 32 * *' }, `schedule.cron must be ${fiveFields}, got "0 0 32 * *". Invalid value for day.`],
    [
      { cron: '0 0 6 * * *' },
      `schedule.cron must be ${fiveFields}, got "0 0 6 * * *". Remove the field for seconds: runs are at least one minute apart.`,
    ],
    [
      { cron: '* * * *' },
      `schedule.cron must be ${fiveFields}, got "* * * *". Example: "0 6 * * 1-5", weekdays at 06:00.`,
    ],
    [
      { cron: '2026-01-01T00:00:00' },
      `schedule.cron must be ${fiveFields}, got "2026-01-01T00:00:00". Example: "0 6 * * 1-5", weekdays at 06:00.`,
    ],
    [
      { cron: '0 0 30 2 *' },
      'schedule.cron must be a cron expression that matches a date, got "0 0 30 2 *". No month has such a day.',
    ],
    [
      { cron: '0 6 * * *', timeZone: 'Berlin' },
      'schedule.timeZone must be an IANA time zone such as Europe/Berlin, got "Berlin". Did you mean Europe/Berlin?',
    ],
    [
      { cron: '0 6 * * *', timeZone: '+02:00' },
      'schedule.timeZone must be an IANA time zone such as Europe/Berlin, got "+02:00".',
    ],
    [
      { cron: '0 6 * * *', timeZone: 'Europe/Berln' },
      'schedule.timeZone must be an IANA time zone such as Europe/Berlin, got "Europe/Berln". Did you mean Europe/Berlin?',
    ],
    [
      { cron: '0 6 * * *', timeZone: 'new york' },
      'schedule.timeZone must be an IANA time zone such as Europe/Berlin, got "new york". Did you mean America/New_York?',
    ],
    [
      { timesOfDay: ['6:00'] },
      'schedule.timesOfDay must be times from 00:00 to 23:59, such as 06:00, got "6:00".',
    ],
    [
      { timesOfDay: ['24:00'] },
      'schedule.timesOfDay must be times from 00:00 to 23:59, such as 06:00, got "24:00".',
    ],
    [{ timesOfDay: [] }, 'schedule.timesOfDay must be a list of 1 to 24 times such as 06:00, got [].'],
    [
      { timesOfDay: ['06:00'], daysOfWeek: ['monday'] },
      'schedule.daysOfWeek must be a list of mon, tue, wed, thu, fri, sat, sun, got ["monday"].',
    ],
    [{ cron: '0 6 * * *', timesOfDay: ['06:00'] }, 'schedule must be either cron or timesOfDay, got both.'],
    [
      { cron: '0 6 * * *', daysOfWeek: ['mon'] },
      'schedule.daysOfWeek must be absent beside cron, whose last field sets the days, got ["mon"].',
    ],
    [
      { cron: '0 6 * * *', timezone: 'UTC' },
      'schedule must be an object with only cron, timesOfDay, daysOfWeek, timeZone, got "timezone".',
    ],
    [
      '0 6 * * *',
      'schedule must be an object with cron or timesOfDay, such as { cron: "0 6 * * *", timeZone: "Europe/Berlin" }, got "0 6 * * *".',
    ],
  ])('schedule: refuses %j with field, value and fix', (input, expected) => {
    expect(message(input)).toBe(expected);
  });
});

describe('schedule: normal form', () => {
  it('schedule: sorts times and days, expands nicknames, sets UTC', () => {
    expect(
      parseSchedule({ timesOfDay: ['18:00', '06:00', '18:00'], daysOfWeek: ['fri', 'mon'] }).schedule,
    ).toEqual({
      timesOfDay: ['06:00', '18:00'],
      daysOfWeek: ['mon', 'fri'],
      timeZone: 'UTC',
    });
    expect(parseSchedule({ timesOfDay: ['06:00'], daysOfWeek: weekdays }).schedule).toEqual({
      timesOfDay: ['06:00'],
      timeZone: 'UTC',
    });
    expect(parseSchedule({ cron: ' @Daily ' }).schedule).toEqual({ cron: '0 0 * * *', timeZone: 'UTC' });
    expect(parseSchedule({ cron: '0   6 * * MON-FRI' }).schedule?.cron).toBe('0 6 * * MON-FRI');
  });

  it('schedule: the longest valid one fits the bound of the column', () => {
    const timesOfDay = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, '0')}:30`);
    const longest = {
      timesOfDay,
      daysOfWeek: weekdays.slice(0, 6),
      timeZone: 'America/Argentina/ComodRivadavia',
    };
    const { schedule } = parseSchedule(longest);
    // jsonb text has a space after each comma and colon.
    const text = JSON.stringify(scheduleColumn(schedule ?? { timeZone: '' })).replaceAll(/[,:]/g, '$& ');
    expect(text.length).toBeLessThan(maxScheduleLength);
  });
});
