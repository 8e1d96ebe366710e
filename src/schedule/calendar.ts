import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import { type Schedule, type Weekday, weekdays } from './schedule.ts';

/** In wall time: no daylight saving. */
export interface Calendar {
  atOrBefore(wallMs: number): number | undefined;
  after(wallMs: number): number | undefined;
}

const dayMs = 86_400_000;

export function calendarOf({ cron, timesOfDay = [], daysOfWeek }: Schedule): Calendar {
  return cron === undefined ? dailyCalendar(timesOfDay, daysOfWeek ?? weekdays) : cronCalendar(cron);
}

/** A parsed expression takes 80 kB. */
const expressions = new LRUCache<string, Cron>({ max: 100 });

/** Throws if `cron` is invalid. */
function cronCalendar(cron: string): Calendar {
  // Offset 0 disables croner's daylight saving rules.
  const expression = expressions.get(cron) ?? new Cron(cron, { mode: '5-part', utcOffset: 0 });
  expressions.set(cron, expression);
  return {
    // croner looks before the whole second.
    atOrBefore: (wallMs) =>
      expression.previousRuns(1, new Date(Math.floor(wallMs / 1000) * 1000 + 1000))[0]?.getTime(),
    after: (wallMs) => expression.nextRun(new Date(wallMs))?.getTime(),
  };
}

function dailyCalendar(timesOfDay: readonly string[], daysOfWeek: readonly Weekday[]): Calendar {
  const times = timesOfDay.map(timeOfDayMs).sort((a, b) => a - b);
  // 1970-01-01 was a Thursday.
  const isDay = (day: number) => daysOfWeek.includes(weekdays[(((day + 3) % 7) + 7) % 7] as Weekday);
  /** A weekday recurs within a week. */
  const find = (wallMs: number, step: 1 | -1, isWanted: (ms: number) => boolean) => {
    const today = Math.floor(wallMs / dayMs);
    for (let days = 0; days <= 7; days++) {
      const day = today + days * step;
      const found = isDay(day) ? times.map((time) => day * dayMs + time).filter(isWanted) : [];
      if (found.length > 0) return found.at(step === 1 ? 0 : -1);
    }
    return undefined;
  };
  return {
    atOrBefore: (wallMs) => find(wallMs, -1, (ms) => ms <= wallMs),
    after: (wallMs) => find(wallMs, 1, (ms) => ms > wallMs),
  };
}

function timeOfDayMs(time: string): number {
  const [hours, minutes] = time.split(':');
  return (Number(hours) * 60 + Number(minutes)) * 60_000;
}
