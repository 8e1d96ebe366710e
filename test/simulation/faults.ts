import type { Engine } from './engine.ts';
import type { FaultKind } from './fault-profile.ts';
import { crashEngine, cutEngineSessions, replaceLater, stopEngine } from './fleet.ts';
import { pausePastLease } from './moments.ts';
import { operatorFactor, runOperatorAction } from './operator.ts';
import { writeFromOutside } from './outside-writer.ts';
import { disturbSchedules } from './schedules.ts';
import type { Simulation } from './simulation.ts';

const monthSeconds = 30 * 24 * 3600;

export async function injectFaults(simulation: Simulation, operator: Engine): Promise<void> {
  const { random, profile } = simulation;
  await disturbSchedules(simulation, operator);
  await writeFromOutside(simulation);
  for (const [kind, chance] of Object.entries(profile.stepFaults) as [FaultKind, number][]) {
    const factor = kind === 'operator acts' ? operatorFactor(simulation) : 1;
    if (random.chance(chance * factor)) await injectFault(simulation, kind, operator);
  }
}

async function injectFault(simulation: Simulation, kind: FaultKind, operator: Engine): Promise<void> {
  const { random, engines, trace, clock, fakeProvider } = simulation;
  if (kind === 'operator acts') return runOperatorAction(simulation, operator);
  if (kind === 'provider grows') {
    const account = random.pick(fakeProvider.accounts);
    fakeProvider.grow(account, random.integer(1, 4));
    if (
      engines.some((engine) =>
        simulation.stepScheduler.isCalling(engine, `fetches a page of ${account.name}`),
      )
    )
      simulation.recorder.note('a provider gained items during a sync');
    return trace.step(`${account.name} grows to ${account.items.length}`);
  }
  if (kind === 'time leaps') {
    const seconds = random.pick([1, 5, 12, 35, 70]);
    clock.nowMs += seconds * 1000;
    return trace.step(`${seconds} s pass`);
  }
  if (engines.length === 0) return;
  const running = engines.filter((engine) => simulation.stepScheduler.isCalling(engine, 'fetches'));
  const candidates = running.length > 0 && random.chance(0.5) ? running : engines;
  await injectEngineFault(simulation, random.pick(candidates), kind);
}

async function injectEngineFault(simulation: Simulation, engine: Engine, kind: FaultKind): Promise<void> {
  const { random, trace, clock, config } = simulation;
  switch (kind) {
    case 'crash':
      return crashEngine(simulation, engine);
    case 'stop':
      if (engine.isStopping) return;
      replaceLater(simulation, engine);
      trace.step(`${engine.name} is requested to stop`);
      return stopEngine(simulation, engine);
    case 'pause': {
      const { leaseSeconds } = config.executor;
      // Just past the lease, another process has just claimed the jobs of this one.
      const seconds = random.pick([1, 3, leaseSeconds + random.integer(0, 8), leaseSeconds * 2]);
      if (seconds > leaseSeconds && random.chance(0.6)) return pausePastLease(simulation, engine);
      engine.pausedUntilMs = clock.nowMs + seconds * 1000;
      return trace.step(`${engine.name} pauses for ${seconds} s`);
    }
    case 'clock jumps': {
      const seconds = random.integer(-simulation.profile.jumpSeconds, simulation.profile.jumpSeconds);
      if (seconds * 1000 > engine.skewMs && simulation.stepScheduler.isCalling(engine, 'fetches'))
        simulation.recorder.note('a clock jumped ahead during a run');
      engine.skewMs = seconds * 1000;
      if (Math.abs(seconds) > monthSeconds)
        simulation.recorder.note('a clock was wrong by more than a month');
      return trace.step(`the clock of ${engine.name} is now off by ${seconds} s`);
    }
    case 'sessions are cut':
      trace.step(`the sessions of ${engine.name} are terminated`);
      return cutEngineSessions(simulation, engine);
    default:
      throw new Error(`Fault "${kind}" is not implemented.`);
  }
}
