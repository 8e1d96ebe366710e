import type { Role } from '../../src/index.ts';
import type { Violation } from '../checker/check.ts';
import type { SimulatedDatabase } from './database.ts';
import { createEngine, type Engine } from './engine.ts';
import { die } from './fleet.ts';
import { lookAtClaimed, lookAtTaken } from './leases.ts';
import { atStatement } from './moments.ts';
import { drawConfig, drawMood, type Mood, type SimulatedConfig } from './mood.ts';
import { type Random, seeded } from './random.ts';
import { type Watcher, watchSituations } from './situations.ts';
import { type Actor, createStage, type Stage, type StatementFault } from './stage.ts';
import { mayNotify } from './statements.ts';
import { createTrace, type Trace } from './trace.ts';
import { type Session, type StatementEnd, type Wire, watchWire } from './wire.ts';
import { createWorld, type World } from './world.ts';

/** Everything of one simulation. */
export interface Simulation {
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly clock: { nowMs: number };
  readonly mood: Mood;
  readonly config: SimulatedConfig;
  readonly trace: Trace;
  readonly wire: Wire;
  readonly stage: Stage;
  readonly world: World;
  readonly watcher: Watcher;
  /** Engines that live, the operator's not among them. */
  readonly engines: Engine[];
  /** What happens at a certain time. */
  readonly agenda: { atMs: number; what: string; run: () => void }[];
  /** What was seen on the way that must not be. */
  readonly violations: Violation[];
  /** What each run was told: whether another page follows. */
  readonly told: Map<string, Set<boolean>>;
  /** Looks at the database, to be taken after the step under way. */
  readonly looks: (() => Promise<void>)[];
  /** Nothing goes wrong any more. */
  isQuiet: boolean;
  /** What the operator has begun and not finished. */
  acting: number;
  start(roles: readonly Role[]): Engine;
  /** An engine that runs nothing. */
  create(name: string, roles?: readonly Role[]): Engine;
  /** The jobs that it was the last to claim. */
  claimedBy(engine: Engine): ReadonlySet<string>;
  /** Whether an owner of sessions is an engine that made this id. */
  made(owner: string, id: string): boolean;
  /** To be called when a statement may have committed something. */
  passOnNotifications(): Promise<void>;
  end(): Promise<void>;
}

const startMs = Date.parse('2025-03-01T12:00:00Z');

export function openSimulation(database: SimulatedDatabase, seed: number): Simulation {
  const random = seeded(`seed ${seed}`);
  const clock = { nowMs: startMs + random.whole(0, 86_400_000) };
  const now = () => clock.nowMs;
  const mood = drawMood(random.fork('mood'));
  const config = drawConfig(random.fork('config'), mood);
  const trace = createTrace(now);
  const faults = random.fork('faults');
  const known = new Map<string, Engine>();
  const engines: Engine[] = [];
  /** Who claimed a job last. */
  const claimants = new Map<string, string>();
  let hasNotified = false;
  let named = 0;
  let ids = 0;

  const made = (owner: string, id: string) => known.get(owner)?.made(id) ?? false;
  const wire = watchWire(now, mood.settings, (end: StatementEnd) => {
    watcher.see(end);
    lookAtTaken(simulation, end);
    lookAtClaimed(simulation, end);
    wakeSleepers(end);
    if ((end.error as { code?: string } | undefined)?.code === '40P01')
      simulation.violations.push({
        invariant: 'nobody waits in a circle',
        detail: `${end.session.owner} at ${end.kind}, after ${end.before.join(', ')}`,
      });
    if (end.kind === 'commit' ? end.before.some(mayNotify) : end.before.length === 0 && mayNotify(end.kind))
      hasNotified = true;
  });
  const watcher = watchSituations({
    sessions: wire.sessions,
    made,
    isAsleep: (owner) => (known.get(owner)?.pausedUntilMs ?? 0) > now(),
    clockWentBack: (owner) => (known.get(owner)?.skewMs ?? 0) < 0,
  });
  if ('default_transaction_isolation' in mood.settings)
    watcher.note('sessions began with another isolation level');
  if ('DateStyle' in mood.settings) watcher.note('sessions began with another date style');
  const told = new Map<string, Set<boolean>>();
  const world = createWorld(random.fork('world'), mood.temper, ({ account, jobId, what, goesOn }) => {
    trace.step(`  ${account.name} ${what}`);
    if (goesOn !== undefined) told.set(jobId, (told.get(jobId) ?? new Set()).add(goesOn));
  });

  function wakeSleepers({ kind, rows, session }: StatementEnd): void {
    if (kind !== 'mark running' || rows.length === 0) return;
    const ids = (rows as { id: string }[]).map(({ id }) => id);
    for (const engine of engines.filter(
      ({ owner, wakesAfterMs, wakesFor }) =>
        owner !== session.owner && wakesAfterMs <= now() && (!wakesFor || ids.some((id) => wakesFor.has(id))),
    ))
      Object.assign(engine, { pausedUntilMs: now(), wakesAfterMs: Number.POSITIVE_INFINITY, weight: 5 });
    for (const id of ids) claimants.set(id, session.owner);
  }

  function faultOf(actor: Actor, kind: string, text: string): StatementFault {
    if (simulation.isQuiet) return 'none';
    const engine = engines.find((one) => one === actor);
    if (engine) atStatement(simulation, engine, { kind, text }, faults);
    for (const [fault, chance] of Object.entries(mood.statements) as [StatementFault, number][]) {
      const isRace = fault === 'raced' || fault === 'deadlocked';
      if (isRace && !canLoseRace(kind)) continue;
      // The interesting moment: done, and nobody knows.
      const factor = kind === 'commit' && fault === 'unanswered' ? 8 : 1;
      if (faults.chance(chance * factor)) return fault;
    }
    return 'none';
  }

  const stage = createStage({
    now,
    wire,
    overseer: database.overseer,
    trace,
    faultOf,
    onFault: (_actor, kind, fault) => {
      if (fault !== 'raced' && fault !== 'deadlocked') return;
      if (kind === 'settle jobs' || kind === 'store signals' || kind === 'lock runs')
        watcher.note('a commit lost a race and was run again');
      if (kind === 'lock due' || kind === 'place jobs' || kind === 'patch sync')
        watcher.note('a batch of placements lost a race and was run again');
    },
  });

  function create(name: string, roles: readonly Role[] = []): Engine {
    const engine = createEngine({
      name,
      url: database.url,
      roles,
      config,
      random: random.fork(name),
      now,
      newId: () => uuid(now(), ids++),
      stage,
      trace,
      connectors: (actor) =>
        world.connectors((label, work, delayMs, kills) => {
          const calling = stage.call(actor, label, work, delayMs);
          if (kills)
            void calling.then(
              () => diesOf(actor),
              () => diesOf(actor),
            );
          return calling;
        }),
      onSaid: (message) => {
        watcher.hear(message);
        // Also once nothing else goes wrong: five deaths in a row take their time.
        if (/died 5 times in a row.*The job has failed/.test(message)) world.cure();
      },
    });
    known.set(engine.owner, engine);
    return engine;
  }

  /** EXE-9: a connector that kills its process does so before anything of its run is stored. */
  function diesOf(actor: Actor): void {
    const engine = engines.find((one) => one === actor);
    if (engine) simulation.looks.push(async () => die(simulation, engine));
  }

  async function passOnNotifications(): Promise<void> {
    if (!hasNotified || !mood.hasNotifications) return;
    hasNotified = false;
    const heard = new Set(await database.overseer.heard());
    for (const payload of heard)
      for (const session of wire.sessions().filter(({ listens }) => listens)) {
        const engine = known.get(session.owner);
        const label = `hears that there are ${payload}`;
        if (!engine || engine.isDead || stage.isCalling(engine, label)) continue;
        void stage.call(engine, label, () => {
          if (session.isOver) return;
          watcher.note('a notification woke an executor');
          session.client.emit('notification', { payload });
        });
      }
  }

  const simulation: Simulation = {
    database,
    random,
    clock,
    mood,
    config,
    trace,
    wire,
    stage,
    world,
    watcher,
    engines,
    agenda: [],
    violations: [],
    told,
    looks: [],
    isQuiet: false,
    acting: 0,
    create,
    start: (roles) => {
      const engine = create(`e${++named}`, roles);
      // Some machines start with a wrong clock, and keep it.
      if (mood.startsSkewed && random.chance(0.5)) {
        engine.skewMs = random.pick([-1, 1]) * mood.jumpSeconds * 1000;
        watcher.note('a clock was off by more than a month');
      }
      engines.push(engine);
      trace.step(`${engine.name} starts: ${roles.join(', ')}`);
      void engine.syncline
        .start({ roles })
        .catch((error: unknown) => trace.remark(`${engine.name} did not start: ${error}`));
      return engine;
    },
    claimedBy: ({ owner }) =>
      new Set([...claimants].filter(([, claimant]) => claimant === owner).map(([id]) => id)),
    made,
    passOnNotifications,
    end: async () => {
      for (const engine of known.values()) {
        engine.isDead = true;
        stage.forget(engine);
      }
      await leaveSessions(simulation, wire.sessions());
      wire.close();
    },
  };
  return simulation;
}

/** The processes behind these sessions are gone. */
export async function leaveSessions(simulation: Simulation, sessions: readonly Session[]): Promise<void> {
  for (const session of sessions) if (session.busy === undefined) await simulation.wire.leave(session);
  await cutSessions(simulation, sessions);
}

/** The server ends these sessions. */
export async function cutSessions(
  { database, wire }: Simulation,
  sessions: readonly Session[],
): Promise<void> {
  const left = () => sessions.filter(({ isOver }) => !isOver);
  while (left().length > 0) {
    await database.overseer.terminate(left());
    for (let i = 0; i < 20 && left().length > 0; i++) await wire.moved(10);
  }
}

const neverRaced = new Set(['begin', 'rollback', 'heartbeat', 'register process', 'commit']);
const canLoseRace = (kind: string) => !neverRaced.has(kind);

/** In the order of time, as the engine's own are, and decided by nothing but the order in which they are made. */
function uuid(nowMs: number, count: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const number = count.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number}`;
}
