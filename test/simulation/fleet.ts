import type { Role } from '../../src/index.ts';
import type { Engine } from './engine.ts';
import { lookAtStopped } from './leases.ts';
import { cutSessions, leaveSessions, type Simulation } from './simulation.ts';

const rolesDrawn: readonly (readonly Role[])[] = [
  ['executor'],
  ['executor'],
  ['scheduler', 'executor'],
  ['scheduler'],
  ['scheduler', 'executor', 'janitor'],
];

/** At least one of each kind that is needed, and some more. */
export function startFleet(simulation: Simulation): void {
  const { random } = simulation;
  const first: readonly (readonly Role[])[] = random.pick([
    [['scheduler'], ['executor']],
    [['scheduler', 'executor']],
    [['scheduler', 'executor'], ['executor']],
  ]);
  for (const roles of first) simulation.start(roles);
  for (let more = random.whole(1, 2); more > 0; more--) simulation.start(random.pick(rolesDrawn));
}

/** It is gone from one moment to the next, and with it its sessions. */
export async function die(simulation: Simulation, engine: Engine): Promise<void> {
  simulation.trace.step(`${engine.name} dies`);
  // One that is about to stop has its successor.
  if (!engine.isStopping) replaceLater(simulation, engine);
  noteDeath(simulation, engine);
  remove(simulation, engine);
  engine.isDead = true;
  simulation.stage.forget(engine);
  await leaveSessions(simulation, sessionsOf(simulation, engine));
  await simulation.stage.settle();
}

const sessionsOf = ({ wire }: Simulation, engine: Engine) =>
  wire.sessions().filter(({ owner }) => owner === engine.owner);

function noteDeath(simulation: Simulation, engine: Engine): void {
  const { stage, watcher } = simulation;
  if (stage.isCalling(engine, 'fetches')) watcher.note('a process died between a claim and its first page');
  for (const { transaction } of sessionsOf(simulation, engine)) {
    if (transaction.includes('store signals') || transaction.includes('settle jobs'))
      watcher.note('a process died in the middle of a commit');
    if (transaction.includes('mark running')) watcher.note('a process died in the middle of a claim');
    if (transaction.includes('place jobs')) watcher.note('a process died in the middle of a tick');
  }
}

/** Its sessions end, all at once; the process goes on. */
export async function cut(simulation: Simulation, engine: Engine): Promise<void> {
  const sessions = sessionsOf(simulation, engine);
  if (sessions.some(({ transaction }) => transaction.length > 0))
    simulation.watcher.note('sessions were cut with a transaction open');
  await cutSessions(simulation, sessions);
  await simulation.stage.settle();
}

/** It is told to stop, and stops when it has finished. */
export async function stop(simulation: Simulation, engine: Engine): Promise<void> {
  if (engine.isStopping) return;
  engine.isStopping = true;
  void engine.syncline.stop().then(
    () => {
      simulation.trace.step(`${engine.name} has stopped`);
      remove(simulation, engine);
      engine.isDead = true;
      simulation.stage.forget(engine);
      lookAtStopped(simulation, engine);
    },
    (error: unknown) => simulation.trace.remark(`${engine.name} could not stop: ${error}`),
  );
  await simulation.stage.settle();
}

function remove({ engines }: Simulation, engine: Engine): void {
  const at = engines.indexOf(engine);
  if (at >= 0) engines.splice(at, 1);
}

/** A role that nobody has any more is somebody's again. */
export function fillRoles(simulation: Simulation): void {
  const missing = (['scheduler', 'executor'] as const).filter(
    (role) => !simulation.engines.some(({ roles, isStopping }) => roles.includes(role) && !isStopping),
  );
  if (missing.length > 0) simulation.start(missing);
}

/** Somebody takes its place after a while. */
export function replaceLater(simulation: Simulation, { roles }: Engine): void {
  const atMs = simulation.clock.nowMs + simulation.random.whole(0, 40) * 1000;
  simulation.agenda.push({ atMs, what: 'an engine starts', run: () => void simulation.start(roles) });
}
