import type { ScheduleInput } from '../../src/index.ts';
import type { Engine } from './engine.ts';
import { perform } from './operator.ts';
import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';
import type { StatementEnd } from './wire.ts';

/** Drawn from a stream of their own, so that the steps of simulations without schedules do not depend on them. */
export interface Schedules {
  startMs: number;
  /** The clock change that the simulation may cross. */
  change: ClockChange | undefined;
  /** Per connection, as in `connections.schedule`; undefined: by interval. */
  drawColumn(): object | undefined;
  draw(): ScheduleInput | null;
  random: Random;
  /** As last locked by a scheduler. */
  due: Map<string, DueRow>;
}

interface ClockChange {
  zone: string;
  atMs: number;
}

/** In autumn schedules pause for the repeated time: half an hour, which fits into the quiet phase. */
const changes: readonly ClockChange[] = [
  { zone: 'Europe/Berlin', atMs: Date.parse('2025-03-30T01:00:00Z') },
  { zone: 'Australia/Lord_Howe', atMs: Date.parse('2025-04-05T15:00:00Z') },
];
/** Occurrences are minutes apart, so that every connection runs in the quiet phase. */
const crons = ['*/2 * * * *', '1-59/3 * * * *', '*/5 * * * *', '0,4,11,17,23,30,37,41,48,55 * * * *'];
const minuteMs = 60_000;

/** In a quarter of the simulations; undefined in the others. */
export function drawSchedules(random: Random, defaultStartMs: number): Schedules | undefined {
  if (!random.chance(0.25)) return undefined;
  const change = random.chance(0.6) ? random.pick(changes) : undefined;
  const startMs = change ? change.atMs - random.integer(0, 2 * minuteMs) : defaultStartMs;
  const zones = change ? [change.zone, change.zone, 'UTC'] : ['UTC', 'Asia/Kathmandu', 'America/New_York'];

  function drawSchedule(): ScheduleInput {
    const timeZone = random.pick(zones);
    return random.chance(0.6)
      ? { cron: random.pick(crons), timeZone }
      : { timesOfDay: timesAround(startMs, timeZone), timeZone };
  }

  return {
    startMs,
    change,
    random,
    due: new Map(),
    drawColumn: () => (random.chance(0.6) ? columnOf(drawSchedule()) : undefined),
    draw: () => (random.chance(0.8) ? drawSchedule() : null),
  };
}

/** The longest list, for the hours of the simulation. */
function timesAround(startMs: number, timeZone: string): string[] {
  const format = new Intl.DateTimeFormat('sv', { timeZone, timeStyle: 'short' });
  const firstMs = startMs - 45 * minuteMs;
  return [...new Set(Array.from({ length: 24 }, (_, i) => format.format(firstMs + i * 7 * minuteMs)))];
}

function columnOf(schedule: ScheduleInput): object {
  const { timeZone: time_zone } = schedule;
  return 'cron' in schedule
    ? { cron: schedule.cron, time_zone }
    : { times_of_day: [...schedule.timesOfDay].sort(), time_zone };
}

const changeChance = 0.01;
const outageChance = 0.002;
const outageMs = 30 * minuteMs;

/** Before each step of the fault phase. */
export async function disturbSchedules(simulation: Simulation, operator: Engine): Promise<void> {
  const { schedules, clock, trace, fakeProvider } = simulation;
  if (!schedules) return;
  const { random } = schedules;
  if (random.chance(outageChance)) {
    clock.nowMs += outageMs;
    trace.step('half an hour passes');
  }
  if (!random.chance(changeChance)) return;
  const { connectionId, name } = random.pick(fakeProvider.accounts);
  const { connections } = operator.syncline;
  const [what, work] = random.chance(0.2)
    ? ['set an interval of', () => connections.setInterval(connectionId, random.pick([60, 120]))]
    : (['set the schedule of', () => connections.setSchedule(connectionId, schedules.draw())] as const);
  await perform(simulation, `${what} ${name}`, work);
}

interface DueRow {
  id: string;
  schedule: string | null;
  next_run_at: string | null;
  last_ended_ms: number | null;
}

/** At the placement of a job, from the row that the scheduler locked before. */
export function noteSchedules({ clock, schedules, recorder }: Simulation, end: StatementEnd): void {
  if (!schedules || end.error !== undefined) return;
  const { due, change } = schedules;
  if (end.kind === 'lock due') for (const row of end.rows as DueRow[]) due.set(row.id, row);
  if (end.kind !== 'place jobs') return;
  for (const { connection_id } of end.rows as { connection_id: string }[]) {
    const { schedule = null, next_run_at = null, last_ended_ms = null } = due.get(connection_id) ?? {};
    if (schedule === null || next_run_at === null || last_ended_ms === null) continue;
    const nextRunMs = Date.parse(JSON.parse(next_run_at) as string);
    if (nextRunMs < clock.nowMs - outageMs / 2) recorder.note('a schedule caught up after an outage');
    const isInZone = (JSON.parse(schedule) as { time_zone: string }).time_zone === change?.zone;
    if (change && isInZone && last_ended_ms < change.atMs && change.atMs <= Math.max(nextRunMs, clock.nowMs))
      recorder.note('a schedule crossed a daylight saving change');
  }
}
