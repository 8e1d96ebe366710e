import type { Role } from '../../src/index.ts';
import type { Violation } from '../checker/check.ts';
import type { SimulatedDatabase } from './database.ts';
import { createEngine, type Engine } from './engine.ts';
import { createFakeProvider, type FakeProvider } from './fake-provider.ts';
import { drawConfig, drawFaultProfile, type FaultProfile, type SimulatedConfig } from './fault-profile.ts';
import { crashEngine } from './fleet.ts';
import { checkClaimsAreDue, checkReapedLeases, checkRetention } from './leases.ts';
import { injectAtStatement } from './moments.ts';
import { drawOutsideWriter } from './outside-writer.ts';
import { type Random, seeded } from './random.ts';
import { drawSchedules, noteSchedules, type Schedules } from './schedules.ts';
import { recordSituations, type SituationRecorder } from './situations.ts';
import { mayNotify } from './statements.ts';
import {
  type Actor,
  createStepScheduler,
  type StatementFault,
  type StepScheduler,
} from './step-scheduler.ts';
import { createTrace, type Trace } from './trace.ts';
import { type Session, type StatementEnd, type Wire, watchWire } from './wire.ts';

export interface Simulation {
  /** In some simulations. */
  outsideWriter: Random | undefined;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly clock: { nowMs: number };
  readonly profile: FaultProfile;
  readonly config: SimulatedConfig;
  readonly schedules: Schedules | undefined;
  readonly trace: Trace;
  readonly wire: Wire;
  readonly stepScheduler: StepScheduler;
  readonly fakeProvider: FakeProvider;
  readonly recorder: SituationRecorder;
  /** Live engines, without the operator's. */
  readonly engines: Engine[];
  readonly agenda: { atMs: number; what: string; run: () => void }[];
  readonly violations: Violation[];
  /** By job: whether its pages required a follow-up job. */
  readonly expectedFollowUps: Map<string, Set<boolean>>;
  /** Checks and faults to run after the current step. */
  readonly afterStep: (() => Promise<void>)[];
  isQuiet: boolean;
  operatorActions: number;
  start(roles: readonly Role[]): Engine;
  create(name: string, roles?: readonly Role[]): Engine;
  /** The jobs whose last claim is by this engine. */
  claimedBy(engine: Engine): ReadonlySet<string>;
  /** Whether the engine that owns a session generated this id. */
  ownsId(owner: string, id: string): boolean;
  deliverNotifications(): Promise<void>;
  end(): Promise<void>;
}

const startMs = Date.parse('2025-03-01T12:00:00Z');

export function openSimulation(database: SimulatedDatabase, seed: number): Simulation {
  const random = seeded(`seed ${seed}`);
  const defaultStartMs = startMs + random.integer(0, 86_400_000);
  const schedules = drawSchedules(random.fork('schedules'), defaultStartMs);
  const outsideWriter = drawOutsideWriter(random.fork('outside session'));
  const clock = { nowMs: schedules?.startMs ?? defaultStartMs };
  const now = () => clock.nowMs;
  const profile = drawFaultProfile(random.fork('mood'));
  const config = drawConfig(random.fork('config'), profile);
  const trace = createTrace(now);
  const faults = random.fork('faults');
  const enginesByOwner = new Map<string, Engine>();
  const engines: Engine[] = [];
  const claimants = new Map<string, string>();
  let hasNotified = false;
  let engineCount = 0;
  let idCount = 0;

  const ownsId = (owner: string, id: string) => enginesByOwner.get(owner)?.ownsId(id) ?? false;
  const wire = watchWire(now, profile.settings, (end: StatementEnd) => {
    recorder.onStatement(end);
    noteSchedules(simulation, end);
    checkReapedLeases(simulation, end);
    checkClaimsAreDue(simulation, end);
    checkRetention(simulation, end);
    wakePausedEngines(end);
    if ((end.error as { code?: string } | undefined)?.code === '40P01')
      simulation.violations.push({
        invariant: 'no deadlock occurs',
        detail: `${end.session.owner} at ${end.kind}, after ${end.before.join(', ')}`,
      });
    if (end.kind === 'commit' ? end.before.some(mayNotify) : end.before.length === 0 && mayNotify(end.kind))
      hasNotified = true;
  });
  const recorder = recordSituations({
    sessions: wire.sessions,
    ownsId,
    isAsleep: (owner) => (enginesByOwner.get(owner)?.pausedUntilMs ?? 0) > now(),
    clockWentBack: (owner) => (enginesByOwner.get(owner)?.skewMs ?? 0) < 0,
  });
  if ('default_transaction_isolation' in profile.settings)
    recorder.note('sessions started with another isolation level');
  if ('DateStyle' in profile.settings) recorder.note('sessions started with another date style');
  const expectedFollowUps = new Map<string, Set<boolean>>();
  const fakeProvider = createFakeProvider(
    random.fork('world'),
    profile.providerFaults,
    ({ account, jobId, what, hasNextPage }) => {
      trace.step(`  ${account.name} ${what}`);
      if (hasNextPage !== undefined)
        expectedFollowUps.set(jobId, (expectedFollowUps.get(jobId) ?? new Set()).add(hasNextPage));
    },
  );

  function wakePausedEngines({ kind, rows, session }: StatementEnd): void {
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
    const engine = engines.find((candidate) => candidate === actor);
    if (engine) injectAtStatement(simulation, engine, { kind, text }, faults);
    for (const [fault, chance] of Object.entries(profile.statementFaults) as [StatementFault, number][]) {
      const isRace = fault === 'raced' || fault === 'deadlocked';
      if (isRace && !canFailToSerialize(kind)) continue;
      // Most critical: the commit took effect, but its response is lost.
      const factor = kind === 'commit' && fault === 'unanswered' ? 8 : 1;
      if (faults.chance(chance * factor)) return fault;
    }
    return 'none';
  }

  const stepScheduler = createStepScheduler({
    now,
    wire,
    observer: database.observer,
    trace,
    faultOf,
    onFault: (_actor, kind, fault) => {
      if (fault !== 'raced' && fault !== 'deadlocked') return;
      if (kind === 'settle jobs' || kind === 'store signals' || kind === 'lock runs')
        recorder.note('a commit was retried after a serialization failure or deadlock');
      if (kind === 'lock due' || kind === 'place jobs' || kind === 'patch sync')
        recorder.note('a scheduler batch was retried after a serialization failure or deadlock');
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
      newId: () => uuid(now(), idCount++),
      stepScheduler,
      trace,
      connectors: (actor) =>
        fakeProvider.connectors((label, work, delayMs, kills) => {
          const calling = stepScheduler.call(actor, label, work, delayMs);
          if (kills)
            void calling.then(
              () => crashAfterStep(actor),
              () => crashAfterStep(actor),
            );
          return calling;
        }),
      onLog: (message) => {
        recorder.onLog(message);
        // Poison stays on in the quiet phase until five consecutive crashes have failed the job.
        if (/died 5 times in a row.*The job has failed/.test(message)) fakeProvider.stopKilling();
      },
    });
    enginesByOwner.set(engine.owner, engine);
    return engine;
  }

  /** EXE-9: before the run stores anything. */
  function crashAfterStep(actor: Actor): void {
    const engine = engines.find((candidate) => candidate === actor);
    if (engine) simulation.afterStep.push(async () => crashEngine(simulation, engine));
  }

  async function deliverNotifications(): Promise<void> {
    if (!hasNotified || !profile.hasNotifications) return;
    hasNotified = false;
    const payloads = new Set(await database.observer.notifications());
    for (const payload of payloads)
      for (const session of wire.sessions().filter(({ listens }) => listens)) {
        const engine = enginesByOwner.get(session.owner);
        const label = `is notified of ${payload}`;
        if (!engine || engine.isDead || stepScheduler.isCalling(engine, label)) continue;
        void stepScheduler.call(engine, label, () => {
          if (session.isClosed) return;
          recorder.note('a notification woke an executor');
          session.client.emit('notification', { payload });
        });
      }
  }

  const simulation: Simulation = {
    database,
    random,
    clock,
    profile,
    config,
    schedules,
    outsideWriter,
    trace,
    wire,
    stepScheduler,
    fakeProvider,
    recorder,
    engines,
    agenda: [],
    violations: [],
    expectedFollowUps,
    afterStep: [],
    isQuiet: false,
    operatorActions: 0,
    create,
    start: (roles) => {
      const engine = create(`e${++engineCount}`, roles);
      if (profile.startsSkewed && random.chance(0.5)) {
        engine.skewMs = random.pick([-1, 1]) * profile.jumpSeconds * 1000;
        recorder.note('a clock was wrong by more than a month');
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
    ownsId,
    deliverNotifications,
    end: async () => {
      for (const engine of enginesByOwner.values()) {
        engine.isDead = true;
        stepScheduler.forget(engine);
      }
      await closeSessions(simulation, wire.sessions());
      wire.close();
    },
  };
  return simulation;
}

export async function closeSessions(simulation: Simulation, sessions: readonly Session[]): Promise<void> {
  for (const session of sessions) if (session.busy === undefined) await simulation.wire.abandon(session);
  await terminateSessions(simulation, sessions);
}

export async function terminateSessions(
  { database, wire }: Simulation,
  sessions: readonly Session[],
): Promise<void> {
  const open = () => sessions.filter(({ isClosed }) => !isClosed);
  while (open().length > 0) {
    await database.observer.terminate(open());
    for (let i = 0; i < 20 && open().length > 0; i++) await wire.nextActivity(10);
  }
}

const neverConflicts = new Set(['begin', 'rollback', 'heartbeat', 'register process', 'commit']);
const canFailToSerialize = (kind: string) => !neverConflicts.has(kind);

/** Time-ordered like UUIDv7, and deterministic. */
function uuid(nowMs: number, count: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const number = count.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number}`;
}
