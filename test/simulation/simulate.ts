import type { Violation } from '../checker/check.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Engine } from './engine.ts';
import { injectFaults } from './faults.ts';
import { fillRoles, startFleet, stopEngine } from './fleet.ts';
import { delaysTimers } from './moments.ts';
import { resumeAll } from './operator.ts';
import { openSimulation, type Simulation, terminateSessions } from './simulation.ts';
import type { Situation } from './situations.ts';
import type { Step } from './step-scheduler.ts';
import { isFinished, verify } from './verdict.ts';

export interface Outcome {
  seed: number;
  /** Equal for all runs of a seed. */
  hash: string;
  steps: number;
  violations: Violation[];
  situations: ReadonlySet<Situation>;
  lines: readonly string[];
}

export async function simulate(database: SimulatedDatabase, seed: number): Promise<Outcome> {
  const simulation = openSimulation(database, seed);
  const { trace, recorder } = simulation;
  const violations = await run(simulation).catch((error: Error) => [
    { invariant: 'the simulation completes', detail: error.stack ?? error.message },
  ]);
  await simulation.end();
  return {
    seed,
    hash: trace.hash(),
    steps: trace.steps(),
    violations,
    situations: recorder.seen(),
    lines: trace.lines(),
  };
}

async function run(simulation: Simulation): Promise<Violation[]> {
  const { database, random, clock, fakeProvider, schedules } = simulation;
  const intervals = fakeProvider.accounts.map(() =>
    random.chance(0.5) ? random.pick([60, 75, 120, 30]) : undefined,
  );
  await database.begin(
    fakeProvider.accounts,
    new Date(clock.nowMs - 3_600_000),
    intervals,
    fakeProvider.accounts.map(() => schedules?.drawColumn()),
  );
  const operator = simulation.create('operator');
  startFleet(simulation);
  await simulation.stepScheduler.settle();
  await runFaultPhase(simulation, operator);
  const isDone = await runQuietPhase(simulation, operator);
  const doneMs = clock.nowMs;
  const hasStopped = isDone && (await stopAll(simulation));
  return verify(simulation, { isDone, doneMs, hasStopped });
}

async function runFaultPhase(simulation: Simulation, operator: Engine): Promise<void> {
  const { random, clock, profile, trace } = simulation;
  const steps = random.integer(200, 450);
  const outageAt = profile.hasLongOutage ? random.integer(50, steps) : -1;
  for (let i = 0; i < steps; i++) {
    await injectFaults(simulation, operator);
    if (i === outageAt) {
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

/** Virtual time in which all work must complete after the last fault. */
const quietMs = 45 * 60_000;
/** Above what 45 minutes of heartbeats and claims take: a run may be due only at the end of them. */
const maxQuietSteps = 60_000;

async function runQuietPhase(simulation: Simulation, operator: Engine): Promise<boolean> {
  const { random, clock, engines, fakeProvider, trace } = simulation;
  trace.step('quiet phase: no more faults');
  simulation.isQuiet = true;
  fakeProvider.stopFaults();
  for (const engine of engines) Object.assign(engine, { pausedUntilMs: 0, weight: 1 });
  // Half of the simulations replace all engines: recovery may not depend on process memory.
  if (random.chance(0.5)) {
    for (const engine of [...engines]) await stopEngine(simulation, engine);
    simulation.agenda.length = 0;
  }
  fillRoles(simulation);
  const fromMs = clock.nowMs;
  // Waiting for the next run of every connection is slow, so only a third do.
  const sinceMs = random.chance(1 / 3) ? fromMs : 0;
  await simulation.stepScheduler.settle();
  for (let i = 0; i < maxQuietSteps && clock.nowMs < fromMs + quietMs; i++) {
    if (i % 20 === 0) await resumeAll(simulation, operator);
    await step(simulation);
    if (i % 20 === 19 && isIdle(simulation) && (await isFinished(simulation, sinceMs))) return true;
  }
  return false;
}

/** No open transaction: uncommitted changes are not visible to the checks. */
const isIdle = ({ operatorActions, wire }: Simulation) =>
  operatorActions === 0 && wire.sessions().every(({ transaction }) => transaction.length === 0);

async function stopAll(simulation: Simulation): Promise<boolean> {
  for (const engine of [...simulation.engines]) await stopEngine(simulation, engine);
  simulation.agenda.length = 0;
  for (let i = 0; i < maxQuietSteps && simulation.engines.length > 0; i++) await step(simulation);
  return simulation.engines.length === 0;
}

async function step(simulation: Simulation): Promise<void> {
  const { clock, stepScheduler } = simulation;
  await runAgenda(simulation);
  const ready = stepScheduler.ready();
  if (ready.length === 0) {
    passTime(simulation);
  } else {
    await choose(simulation, ready).run();
    clock.nowMs += drawStepMs(simulation);
  }
  for (const action of simulation.afterStep.splice(0)) await action();
  await enforceLimits(simulation);
  await simulation.deliverNotifications();
}

const delayedTimerWeight = 0.05;

function choose(simulation: Simulation, ready: Step[]): Step {
  const { random } = simulation;
  const weightOf = ({ actor, isTimer }: Step) =>
    actor.weight * (isTimer && delaysTimers(simulation, actor) ? delayedTimerWeight : 1);
  let remaining = random.next() * ready.reduce((sum, candidate) => sum + weightOf(candidate), 0);
  for (const candidate of ready) {
    remaining -= weightOf(candidate);
    if (remaining < 0) return candidate;
  }
  return ready.at(-1) as Step;
}

function drawStepMs({ random, isQuiet, profile }: Simulation): number {
  const kind = random.next();
  if (isQuiet || kind < 0.7) return random.integer(0, 5);
  if (kind < 0.95) return Math.ceil(random.integer(5, 150) * profile.pace);
  return Math.ceil((kind < 0.995 ? random.integer(150, 2000) : random.integer(2000, 10_000)) * profile.pace);
}

/** No step is ready: advances the clock to the next event. */
function passTime({ clock, stepScheduler, agenda, wire }: Simulation): void {
  const limits = wire.sessions().map((session) => limitOf(session)?.atMs ?? Number.POSITIVE_INFINITY);
  const nextMs = Math.min(stepScheduler.nextMs(), ...agenda.map(({ atMs }) => atMs), ...limits);
  if (!Number.isFinite(nextMs)) throw new Error('No step, timer or timeout is pending.');
  clock.nowMs = Math.max(clock.nowMs + 1, nextMs);
}

async function runAgenda({ clock, agenda, stepScheduler }: Simulation): Promise<void> {
  for (const entry of agenda.filter(({ atMs }) => atMs <= clock.nowMs)) {
    agenda.splice(agenda.indexOf(entry), 1);
    entry.run();
    await stepScheduler.settle();
  }
}

type Limited = ReturnType<Simulation['wire']['sessions']>[number];

/** Without a code, the server terminates the session. */
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

async function enforceLimits(simulation: Simulation): Promise<void> {
  const { clock, wire, database, stepScheduler, trace, recorder } = simulation;
  for (const session of wire.sessions()) {
    if (session.waits) recorder.note('a statement waited for a lock');
    const limit = limitOf(session);
    if (!limit || limit.atMs > clock.nowMs) continue;
    if (limit.code) {
      trace.step(`${session.owner} reaches its lock or statement timeout`);
      recorder.note('a lock wait timed out');
      await database.observer.cancel(session, limit.code);
    } else {
      trace.step(`a transaction of ${session.owner} reaches its idle timeout`);
      recorder.note('the server terminated an idle transaction');
      await terminateSessions(simulation, [session]);
    }
    // The cancelled statement is still in flight here.
    session.waits = false;
    await stepScheduler.settle();
  }
}
