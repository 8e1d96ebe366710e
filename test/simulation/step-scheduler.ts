import type { Observer } from './observer-session.ts';
import { pidOf } from './observer-session.ts';
import type { Random } from './random.ts';
import { kindOf } from './statements.ts';
import type { Trace } from './trace.ts';
import { postgresError, type Session, type Wire } from './wire.ts';

/** An engine or the operator: the scheduler chooses whose step runs next. */
export interface Actor {
  readonly name: string;
  readonly random: Random;
  isDead: boolean;
  pausedUntilMs: number;
  /** Relative probability of choosing its steps. */
  weight: number;
}

export type StatementFault = 'none' | 'unsent' | 'unanswered' | 'raced' | 'deadlocked' | 'slow';

export interface Step {
  actor: Actor;
  label: string;
  isTimer: boolean;
  run(): Promise<void>;
}

interface Statement {
  actor: Actor;
  kind: string;
  fault: StatementFault;
  send: () => Promise<unknown>;
  isSent: boolean;
  answer: { rows: unknown } | { error: unknown } | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Sleep {
  actor: Actor;
  atMs: number;
  wake(): void;
}

interface Call {
  actor: Actor;
  label: string;
  notBeforeMs: number;
  run(): void;
}

export interface StepScheduler {
  statement<T>(actor: Actor, text: string, send: () => Promise<T>): Promise<T>;
  sleep(actor: Actor, ms: number, signal: AbortSignal): Promise<void>;
  call<T>(actor: Actor, label: string, work: () => T, delayMs?: number): Promise<T>;
  /** The steps that can run now, in deterministic order. */
  ready(): Step[];
  nextMs(): number;
  /** Resolves when every operation in this process waits for a step, a timer or a lock. */
  settle(): Promise<void>;
  forget(actor: Actor): void;
  /** A pending call whose label starts with `label`, due in `minMs` or later. */
  isCalling(actor: Actor, label: string, minMs?: number): boolean;
}

export interface StepSchedulerOptions {
  now: () => number;
  wire: Wire;
  observer: Observer;
  trace: Trace;
  faultOf: (actor: Actor, kind: string, text: string) => StatementFault;
  onFault: (actor: Actor, kind: string, fault: StatementFault) => void;
}

/** Event-loop turns without activity that count as idle. Three were too few on a busy machine. */
const quietTurns = 6;
/** Real milliseconds without a response before pg_locks is queried for a lock wait. */
const lockCheckMs = 11;

/** Suspends every operation that an engine awaits until the simulation chooses it. */
export function createStepScheduler({
  now,
  wire,
  observer,
  trace,
  faultOf,
  onFault,
}: StepSchedulerOptions): StepScheduler {
  const statements: Statement[] = [];
  const sleeps: Sleep[] = [];
  const calls: Call[] = [];
  let suspendedCount = 0;
  let releasesSeen = 0;

  function updateLockWait(session: Session, lockWaits: Map<number, { isLong: boolean }>): void {
    const wait = lockWaits.get(pidOf(session));
    session.waits = wait?.isLong === true;
  }

  /** Waits until every statement in flight has a response or waits for a lock. */
  async function untilAnswered(): Promise<void> {
    for (;;) {
      const busy = wire.sessions().filter((session) => session.busy !== undefined && !session.waits);
      if (busy.length === 0) return;
      const activity = wire.activity();
      await wire.nextActivity(lockCheckMs);
      if (wire.activity() !== activity || busy.some((session) => session.busy !== 'statement')) continue;
      const lockWaits = await observer.lockWaits();
      for (const session of busy) if (session.busy === 'statement') updateLockWait(session, lockWaits);
    }
  }

  /** A released lock may have unblocked waiting sessions. */
  async function recheckLockWaits(): Promise<void> {
    const waiting = wire.sessions().filter((session) => session.waits);
    if (waiting.length === 0 || wire.releases() === releasesSeen) return;
    releasesSeen = wire.releases();
    const lockWaits = await observer.lockWaits();
    for (const session of waiting) session.waits = session.waits && lockWaits.has(pidOf(session));
  }

  async function settle(): Promise<void> {
    await recheckLockWaits();
    for (let quiet = 0; quiet < quietTurns; ) {
      const before = wire.activity() + suspendedCount;
      await new Promise<void>((resolve) => setImmediate(resolve));
      const isBusy = wire.sessions().some((session) => session.busy !== undefined && !session.waits);
      if (isBusy) {
        await untilAnswered();
        await recheckLockWaits();
      }
      quiet = !isBusy && wire.activity() + suspendedCount === before ? quiet + 1 : 0;
    }
  }

  async function sendStatement(statement: Statement): Promise<void> {
    const { actor, kind, fault } = statement;
    if (fault !== 'none') onFault(actor, kind, fault);
    if (fault === 'unsent') return finish(statement, { error: connectionLost() });
    if (fault === 'raced') return finish(statement, { error: postgresError('40001') });
    if (fault === 'deadlocked') return finish(statement, { error: postgresError('40P01') });
    statement.isSent = true;
    void statement.send().then(
      (rows) => (statement.answer = { rows }),
      (error: unknown) => (statement.answer = { error }),
    );
    await settle();
    await cancelSecondWaiter();
    if (statement.answer && fault !== 'slow' && !actor.isDead) await deliver(statement);
    else trace.step(`${actor.name} ${kind} … ${statement.answer ? 'response is slow' : 'waits for a lock'}`);
  }

  /**
   * Which of two lock waiters continues first is not deterministic, so the second gets its timeout error
   * immediately.
   */
  async function cancelSecondWaiter(): Promise<void> {
    const waiting = wire.sessions().filter((session) => session.waits);
    if (waiting.length < 2) return;
    const last = waiting.reduce((a, b) => (a.sentCount > b.sentCount ? a : b));
    await observer.cancel(last, Number.isFinite(last.limits.lockMs) ? '55P03' : '57014');
    last.waits = false;
    await settle();
  }

  async function deliver(statement: Statement): Promise<void> {
    const isLost = statement.fault === 'unanswered';
    await finish(statement, isLost ? { error: connectionLost() } : (statement.answer as { rows: unknown }));
  }

  async function finish(statement: Statement, answer: { rows: unknown } | { error: unknown }): Promise<void> {
    const { actor, kind, fault } = statement;
    statements.splice(statements.indexOf(statement), 1);
    trace.step(`${actor.name} ${kind} → ${outcomeOf(answer)}${fault === 'none' ? '' : ` (${fault})`}`);
    if ('error' in answer) statement.reject(answer.error);
    else statement.resolve(answer.rows);
    await settle();
  }

  const canRun = (actor: Actor) => !actor.isDead && actor.pausedUntilMs <= now();

  return {
    statement: (actor, text, send) =>
      new Promise((resolve, reject) => {
        if (actor.isDead) return;
        suspendedCount++;
        const kind = kindOf(text);
        statements.push({
          actor,
          kind,
          fault: faultOf(actor, kind, text),
          send,
          isSent: false,
          answer: undefined,
          resolve: resolve as (value: unknown) => void,
          reject,
        });
      }),

    sleep: (actor, ms, signal) =>
      new Promise((resolve) => {
        if (actor.isDead) return;
        suspendedCount++;
        if (signal.aborted) return resolve();
        const sleep: Sleep = { actor, atMs: now() + Math.ceil(ms), wake: end };
        function end(): void {
          const at = sleeps.indexOf(sleep);
          if (at >= 0) sleeps.splice(at, 1);
          signal.removeEventListener('abort', end);
          resolve();
        }
        sleeps.push(sleep);
        signal.addEventListener('abort', end);
      }),

    call: (actor, label, work, delayMs = 0) =>
      new Promise((resolve, reject) => {
        if (actor.isDead) return;
        suspendedCount++;
        const run = () => {
          try {
            resolve(work());
          } catch (error) {
            reject(error);
          }
        };
        calls.push({ actor, label, notBeforeMs: now() + delayMs, run });
      }),

    ready: () => [
      ...statements
        .filter(({ actor, isSent, answer }) => canRun(actor) && (!isSent || answer !== undefined))
        .map((statement) => ({
          actor: statement.actor,
          label: statement.kind,
          isTimer: false,
          run: () => (statement.isSent ? deliver(statement) : sendStatement(statement)),
        })),
      ...calls
        .filter(({ actor, notBeforeMs }) => canRun(actor) && notBeforeMs <= now())
        .map((call) => ({
          actor: call.actor,
          label: call.label,
          isTimer: false,
          run: async () => {
            calls.splice(calls.indexOf(call), 1);
            trace.step(`${call.actor.name} ${call.label}`);
            call.run();
            await settle();
          },
        })),
      ...sleeps
        .filter(({ actor, atMs }) => canRun(actor) && atMs <= now())
        .map((sleep) => ({
          actor: sleep.actor,
          label: 'wakes up',
          isTimer: true,
          run: async () => {
            sleep.wake();
            await settle();
          },
        })),
    ],

    nextMs: () =>
      Math.min(
        ...sleeps.filter(({ actor }) => !actor.isDead).map(({ actor, atMs }) => later(actor, atMs)),
        ...calls
          .filter(({ actor }) => !actor.isDead)
          .map(({ actor, notBeforeMs }) => later(actor, notBeforeMs)),
        ...statements
          .filter(({ actor, isSent, answer }) => !actor.isDead && (!isSent || answer !== undefined))
          .map(({ actor }) => actor.pausedUntilMs),
      ),

    settle,

    forget: (actor) => {
      for (const list of [statements, sleeps, calls] as { actor: Actor }[][])
        for (let i = list.length - 1; i >= 0; i--) if (list[i]?.actor === actor) list.splice(i, 1);
    },

    isCalling: (actor, label, minMs = 0) =>
      calls.some(
        (call) =>
          call.actor === actor &&
          call.label.startsWith(label) &&
          (minMs === 0 || call.notBeforeMs >= now() + minMs),
      ),
  };
}

const later = (actor: Actor, atMs: number) => Math.max(actor.pausedUntilMs, atMs);

const connectionLost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

function outcomeOf(answer: { rows: unknown } | { error: unknown }): string {
  if ('error' in answer) {
    const { code, message } = answer.error as { code?: string; message?: string };
    return code ?? message ?? 'error';
  }
  return Array.isArray(answer.rows) ? `${answer.rows.length}` : 'done';
}
