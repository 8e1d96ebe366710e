import type { Engine } from './engine.ts';
import { cut, die, replaceLater, stop } from './fleet.ts';
import { sleepPastLease } from './moments.ts';
import type { Mishap } from './mood.ts';
import { act, impatience } from './operator.ts';
import type { Simulation } from './simulation.ts';

const monthSeconds = 30 * 24 * 3600;

/** Draws what goes wrong before the next step; nearly always nothing. */
export async function mishaps(simulation: Simulation, operator: Engine): Promise<void> {
  const { random, mood } = simulation;
  for (const [mishap, chance] of Object.entries(mood.mishaps) as [Mishap, number][]) {
    const factor = mishap === 'operator acts' ? impatience(simulation) : 1;
    if (random.chance(chance * factor)) await happen(simulation, mishap, operator);
  }
}

async function happen(simulation: Simulation, mishap: Mishap, operator: Engine): Promise<void> {
  const { random, engines, trace, clock, world } = simulation;
  if (mishap === 'operator acts') return act(simulation, operator);
  if (mishap === 'provider grows') {
    const account = random.pick(world.accounts);
    world.grow(account, random.whole(1, 4));
    if (engines.some((engine) => simulation.stage.isCalling(engine, `fetches a page of ${account.name}`)))
      simulation.watcher.note('a provider grew while it was being walked');
    return trace.step(`${account.name} grows to ${account.items.length}`);
  }
  if (mishap === 'time leaps') {
    const seconds = random.pick([1, 5, 12, 35, 70]);
    clock.nowMs += seconds * 1000;
    return trace.step(`${seconds} s pass`);
  }
  if (engines.length === 0) return;
  // In the middle of a run there is most to go wrong.
  const running = engines.filter((engine) => simulation.stage.isCalling(engine, 'fetches'));
  const candidates = running.length > 0 && random.chance(0.5) ? running : engines;
  await befall(simulation, random.pick(candidates), mishap);
}

async function befall(simulation: Simulation, engine: Engine, mishap: Mishap): Promise<void> {
  const { random, trace, clock, config } = simulation;
  switch (mishap) {
    case 'crash':
      return die(simulation, engine);
    case 'stop':
      if (engine.isStopping) return;
      replaceLater(simulation, engine);
      trace.step(`${engine.name} is told to stop`);
      return stop(simulation, engine);
    case 'pause': {
      const { leaseSeconds } = config.executor;
      // Just past the lease, somebody else has only begun with what this one still holds.
      const seconds = random.pick([1, 3, leaseSeconds + random.whole(0, 8), leaseSeconds * 2]);
      if (seconds > leaseSeconds && random.chance(0.6)) return sleepPastLease(simulation, engine);
      engine.pausedUntilMs = clock.nowMs + seconds * 1000;
      return trace.step(`${engine.name} stands still for ${seconds} s`);
    }
    case 'clock jumps': {
      const seconds = random.whole(-simulation.mood.jumpSeconds, simulation.mood.jumpSeconds);
      if (seconds * 1000 > engine.skewMs && simulation.stage.isCalling(engine, 'fetches'))
        simulation.watcher.note('a clock went ahead while a run was under way');
      engine.skewMs = seconds * 1000;
      if (Math.abs(seconds) > monthSeconds) simulation.watcher.note('a clock was off by more than a month');
      return trace.step(`the clock of ${engine.name} is off by ${seconds} s now`);
    }
    case 'sessions are cut':
      trace.step(`the sessions of ${engine.name} are cut`);
      return cut(simulation, engine);
    default:
      throw new Error(`Nobody knows how "${mishap}" happens.`);
  }
}
