import type { Role } from '../../src/index.ts';
import type { Engine } from './engine.ts';
import { checkStoppedEngine } from './leases.ts';
import { closeSessions, type Simulation, terminateSessions } from './simulation.ts';

const rolesDrawn: readonly (readonly Role[])[] = [
  ['executor'],
  ['executor'],
  ['scheduler', 'executor'],
  ['scheduler'],
  ['scheduler', 'executor', 'janitor'],
];

/** Starts at least one scheduler and one executor, and one or two more engines. */
export function startFleet(simulation: Simulation): void {
  const { random } = simulation;
  const first: readonly (readonly Role[])[] = random.pick([
    [['scheduler'], ['executor']],
    [['scheduler', 'executor']],
    [['scheduler', 'executor'], ['executor']],
  ]);
  for (const roles of first) simulation.start(roles);
  for (let extra = random.integer(1, 2); extra > 0; extra--) simulation.start(random.pick(rolesDrawn));
}

export async function crashEngine(simulation: Simulation, engine: Engine): Promise<void> {
  simulation.trace.step(`${engine.name} crashes`);
  // A stopping engine already has a successor.
  if (!engine.isStopping) replaceLater(simulation, engine);
  noteCrash(simulation, engine);
  remove(simulation, engine);
  engine.isDead = true;
  simulation.stepScheduler.forget(engine);
  await closeSessions(simulation, sessionsOf(simulation, engine));
  await simulation.stepScheduler.settle();
}

const sessionsOf = ({ wire }: Simulation, engine: Engine) =>
  wire.sessions().filter(({ owner }) => owner === engine.owner);

function noteCrash(simulation: Simulation, engine: Engine): void {
  const { stepScheduler, recorder } = simulation;
  if (stepScheduler.isCalling(engine, 'fetches'))
    recorder.note('a process crashed between a claim and its first page');
  for (const { transaction } of sessionsOf(simulation, engine)) {
    if (transaction.includes('store signals') || transaction.includes('settle jobs'))
      recorder.note('a process crashed during a commit');
    if (transaction.includes('mark running')) recorder.note('a process crashed during a claim');
    if (transaction.includes('place jobs')) recorder.note('a process crashed during a tick');
  }
}

/** Terminates all sessions of an engine; the process continues. */
export async function cutEngineSessions(simulation: Simulation, engine: Engine): Promise<void> {
  const sessions = sessionsOf(simulation, engine);
  if (sessions.some(({ transaction }) => transaction.length > 0))
    simulation.recorder.note('sessions were terminated with an open transaction');
  await terminateSessions(simulation, sessions);
  await simulation.stepScheduler.settle();
}

export async function stopEngine(simulation: Simulation, engine: Engine): Promise<void> {
  if (engine.isStopping) return;
  engine.isStopping = true;
  void engine.syncline.stop().then(
    () => {
      simulation.trace.step(`${engine.name} has stopped`);
      remove(simulation, engine);
      engine.isDead = true;
      simulation.stepScheduler.forget(engine);
      checkStoppedEngine(simulation, engine);
    },
    (error: unknown) => simulation.trace.remark(`${engine.name} failed to stop: ${error}`),
  );
  await simulation.stepScheduler.settle();
}

function remove({ engines }: Simulation, engine: Engine): void {
  const at = engines.indexOf(engine);
  if (at >= 0) engines.splice(at, 1);
}

export function fillRoles(simulation: Simulation): void {
  const missing = (['scheduler', 'executor'] as const).filter(
    (role) => !simulation.engines.some(({ roles, isStopping }) => roles.includes(role) && !isStopping),
  );
  if (missing.length > 0) simulation.start(missing);
}

export function replaceLater(simulation: Simulation, { roles }: Engine): void {
  const atMs = simulation.clock.nowMs + simulation.random.integer(0, 40) * 1000;
  simulation.agenda.push({ atMs, what: 'an engine starts', run: () => void simulation.start(roles) });
}
