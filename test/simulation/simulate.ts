import type { Violation } from '../checker/check.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Engine } from './engine.ts';
import { fillRoles, startFleet, stop } from './fleet.ts';
import { mishaps } from './mishaps.ts';
import { isDrowsy } from './moments.ts';
import { resumeAll } from './operator.ts';
import { cutSessions, openSimulation, type Simulation } from './simulation.ts';
import type { Situation } from './situations.ts';
import type { Step } from './stage.ts';
import { isFinished, verify } from './verdict.ts';

export interface Outcome {
  seed: number;
  /** The same for every run of the same seed. */
  hash: string;
  steps: number;
  violations: Violation[];
  situations: ReadonlySet<Situation>;
  /** Everything that happened. */
  lines: readonly string[];
}

/** One simulation, decided by its seed alone. */
export async function simulate(database: SimulatedDatabase, seed: number): Promise<Outcome> {
  const simulation = openSimulation(database, seed);
  const { trace, watcher } = simulation;
  const violations = await play(simulation).catch((error: Error) => [
    { invariant: 'the simulation comes to its end', detail: error.stack ?? error.message },
  ]);
  await simulation.end();
  return {
    seed,
    hash: trace.hash(),
    steps: trace.steps(),
    violations,
    situations: watcher.seen(),
    lines: trace.lines(),
  };
}

async function play(simulation: Simulation): Promise<Violation[]> {
  const { database, random, clock, world } = simulation;
  const intervals = world.accounts.map(() =>
    random.chance(0.5) ? random.pick([60, 75, 120, 30]) : undefined,
  );
  await database.begin(world.accounts, new Date(clock.nowMs - 3_600_000), intervals);
  const operator = simulation.create('operator');
  startFleet(simulation);
  await simulation.stage.settle();
  await disturb(simulation, operator);
  const isDone = await calmDown(simulation, operator);
  const doneMs = clock.nowMs;
  const hasStopped = isDone && (await stopAll(simulation));
  return verify(simulation, { isDone, doneMs, hasStopped });
}

/** The part in which things go wrong. */
async function disturb(simulation: Simulation, operator: Engine): Promise<void> {
  const { random, clock, mood, trace } = simulation;
  const steps = random.whole(200, 450);
  const nightAt = mood.hasLongNight ? random.whole(50, steps) : -1;
  for (let i = 0; i < steps; i++) {
    await mishaps(simulation, operator);
    if (i === nightAt) {
      clock.nowMs += 2 * 24 * 3600 * 1000;
      trace.step('two days pass');
    }
    if (random.chance(0.02)) drawWeights(simulation);
    await step(simulation);
  }
}

function drawWeights({ random, engines }: Simulation): void {
  for (const engine of engines) engine.weight = random.pick([1, 1, 1, 5, 25]);
}

/** Virtual time in which everything must be done once nothing goes wrong any more: the longest jump of a clock, and some. */
const quietMs = 45 * 60_000;
const maxQuietSteps = 12_000;

/** Nothing goes wrong any more; whether everything got done then. */
async function calmDown(simulation: Simulation, operator: Engine): Promise<boolean> {
  const { random, clock, engines, world, trace } = simulation;
  trace.step('from here on nothing goes wrong');
  simulation.isQuiet = true;
  world.calmDown();
  for (const engine of engines) Object.assign(engine, { pausedUntilMs: 0, weight: 1 });
  // Others take over in half of them: nothing may depend on what one process remembers.
  if (random.chance(0.5)) {
    for (const engine of [...engines]) await stop(simulation, engine);
    simulation.agenda.length = 0;
  }
  fillRoles(simulation);
  const fromMs = clock.nowMs;
  // That everybody's next run comes takes most of the time, so not every one waits for that.
  const sinceMs = random.chance(1 / 3) ? fromMs : 0;
  await simulation.stage.settle();
  for (let i = 0; i < maxQuietSteps && clock.nowMs < fromMs + quietMs; i++) {
    if (i % 20 === 0) await resumeAll(simulation, operator);
    await step(simulation);
    if (i % 20 === 19 && isIdle(simulation) && (await isFinished(simulation, sinceMs))) return true;
  }
  return false;
}

/** Nobody is about to commit something: what is not committed yet cannot be looked at. */
const isIdle = ({ acting, wire }: Simulation) =>
  acting === 0 && wire.sessions().every(({ transaction }) => transaction.length === 0);

async function stopAll(simulation: Simulation): Promise<boolean> {
  for (const engine of [...simulation.engines]) await stop(simulation, engine);
  simulation.agenda.length = 0;
  for (let i = 0; i < maxQuietSteps && simulation.engines.length > 0; i++) await step(simulation);
  return simulation.engines.length === 0;
}

/** One thing happens, and a little time passes. */
async function step(simulation: Simulation): Promise<void> {
  const { clock, stage } = simulation;
  await keepAppointments(simulation);
  const ready = stage.ready();
  if (ready.length === 0) {
    passTime(simulation);
  } else {
    await choose(simulation, ready).run();
    clock.nowMs += drawStepMs(simulation);
  }
  for (const look of simulation.looks.splice(0)) await look();
  await keepLimits(simulation);
  await simulation.passOnNotifications();
}

const drowsyWeight = 0.05;

function choose(simulation: Simulation, ready: Step[]): Step {
  const { random } = simulation;
  const weightOf = ({ actor, isTimer }: Step) =>
    actor.weight * (isTimer && isDrowsy(simulation, actor) ? drowsyWeight : 1);
  let left = random.next() * ready.reduce((sum, one) => sum + weightOf(one), 0);
  for (const one of ready) {
    left -= weightOf(one);
    if (left < 0) return one;
  }
  return ready.at(-1) as Step;
}

function drawStepMs({ random, isQuiet, mood }: Simulation): number {
  const kind = random.next();
  if (isQuiet || kind < 0.7) return random.whole(0, 5);
  if (kind < 0.95) return Math.ceil(random.whole(5, 150) * mood.pace);
  return Math.ceil((kind < 0.995 ? random.whole(150, 2000) : random.whole(2000, 10_000)) * mood.pace);
}

/** Nothing can happen now: time moves on to when something can. */
function passTime({ clock, stage, agenda, wire }: Simulation): void {
  const limits = wire.sessions().map((session) => limitOf(session)?.atMs ?? Number.POSITIVE_INFINITY);
  const nextMs = Math.min(stage.nextMs(), ...agenda.map(({ atMs }) => atMs), ...limits);
  if (!Number.isFinite(nextMs)) throw new Error('Everything stands still, for ever.');
  clock.nowMs = Math.max(clock.nowMs + 1, nextMs);
}

async function keepAppointments({ clock, agenda, stage }: Simulation): Promise<void> {
  for (const one of agenda.filter(({ atMs }) => atMs <= clock.nowMs)) {
    agenda.splice(agenda.indexOf(one), 1);
    one.run();
    await stage.settle();
  }
}

type Limited = ReturnType<Simulation['wire']['sessions']>[number];

/** When the server would lose its patience with a session, and how. */
function limitOf(session: Limited): { atMs: number; code: string | undefined } | undefined {
  const { busy, waits, transaction, sentMs, idleSinceMs, limits } = session;
  if (busy === 'statement' && waits)
    return limits.lockMs <= limits.statementMs
      ? { atMs: sentMs + limits.lockMs, code: '55P03' }
      : { atMs: sentMs + limits.statementMs, code: '57014' };
  if (busy === undefined && transaction.length > 0)
    return { atMs: idleSinceMs + limits.idleMs, code: undefined };
  return undefined;
}

/** The time limits of the server, in virtual time. */
async function keepLimits(simulation: Simulation): Promise<void> {
  const { clock, wire, database, stage, trace, watcher } = simulation;
  for (const session of wire.sessions()) {
    if (session.waits) watcher.note('a statement waited for a lock');
    const limit = limitOf(session);
    if (!limit || limit.atMs > clock.nowMs) continue;
    if (limit.code) {
      trace.step(`${session.owner} has waited for too long`);
      watcher.note('a lock was waited for in vain');
      await database.overseer.refuse(session, limit.code);
    } else {
      trace.step(`a transaction of ${session.owner} stood still for too long`);
      watcher.note('the server ended a transaction that stood still');
      await cutSessions(simulation, [session]);
    }
    // What was refused is still under way here.
    session.waits = false;
    await stage.settle();
  }
}
