import type { Overseer } from './overseer.ts';
import { pidOf } from './overseer.ts';
import type { Random } from './random.ts';
import { kindOf } from './statements.ts';
import type { Trace } from './trace.ts';
import { refusal, type Session, type Wire } from './wire.ts';

/** Somebody whose steps are chosen: an engine, or the operator. */
export interface Actor {
  readonly name: string;
  readonly random: Random;
  /** Nothing of it happens any more. */
  isDead: boolean;
  /** Nothing of it happens before this virtual time. */
  pausedUntilMs: number;
  /** How much more often its steps are chosen than others'. */
  weight: number;
}

/** What goes wrong with a statement. */
export type StatementFault = 'none' | 'unsent' | 'unanswered' | 'raced' | 'deadlocked' | 'slow';

/** Something that can happen next. */
export interface Step {
  actor: Actor;
  label: string;
  /** Whether nothing but time was waited for. */
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
  /** Not before this time. */
  fromMs: number;
  run(): void;
}

export interface Stage {
  statement<T>(actor: Actor, text: string, send: () => Promise<T>): Promise<T>;
  sleep(actor: Actor, ms: number, signal: AbortSignal): Promise<void>;
  /** Anything else that happens in a step of its own: `work` runs when it is chosen. */
  call<T>(actor: Actor, label: string, work: () => T, delayMs?: number): Promise<T>;
  /** All that can happen now, in an order that depends on nothing but what happened before. */
  ready(): Step[];
  /** When the first thing happens that only waits for time. */
  nextMs(): number;
  /** Resolves when everything in this process waits for a step, for time or for a lock. */
  settle(): Promise<void>;
  /** Forgets everything that a dead actor had under way. */
  forget(actor: Actor): void;
  /** Whether a call of this actor's, with a label that begins so, waits to be chosen, and for so long at least. */
  isCalling(actor: Actor, label: string, forMs?: number): boolean;
}

export interface StageOptions {
  now: () => number;
  wire: Wire;
  overseer: Overseer;
  trace: Trace;
  faultOf: (actor: Actor, kind: string, text: string) => StatementFault;
  onFault: (actor: Actor, kind: string, fault: StatementFault) => void;
}

/** Turns of the event loop without anything new, after which there will be nothing new. Three were too few on a busy machine. */
const quietTurns = 6;
/** Real milliseconds after which a statement without an answer may be one that waits for a lock: then one look tells. */
const suspiciousMs = 11;

/** Everything that any engine awaits parks here, and goes on when it is chosen. */
export function createStage({ now, wire, overseer, trace, faultOf, onFault }: StageOptions): Stage {
  const statements: Statement[] = [];
  const sleeps: Sleep[] = [];
  const calls: Call[] = [];
  let parked = 0;
  let releasesSeen = 0;

  function settleLater(session: Session, waiting: Map<number, { isLong: boolean }>): void {
    const wait = waiting.get(pidOf(session));
    session.waits = wait?.isLong === true;
  }

  /** Waits until every statement that is under way has its answer or waits for a lock. */
  async function answered(): Promise<void> {
    for (;;) {
      const busy = wire.sessions().filter((session) => session.busy !== undefined && !session.waits);
      if (busy.length === 0) return;
      const moves = wire.moves();
      await wire.moved(suspiciousMs);
      if (wire.moves() !== moves || busy.some((session) => session.busy !== 'statement')) continue;
      const waiting = await overseer.waiting();
      for (const session of busy) if (session.busy === 'statement') settleLater(session, waiting);
    }
  }

  /** Those that waited may have been let go by what has just happened. */
  async function lookAgain(): Promise<void> {
    const waited = wire.sessions().filter((session) => session.waits);
    if (waited.length === 0 || wire.releases() === releasesSeen) return;
    releasesSeen = wire.releases();
    const waiting = await overseer.waiting();
    for (const session of waited) session.waits = session.waits && waiting.has(pidOf(session));
  }

  async function settle(): Promise<void> {
    await lookAgain();
    for (let quiet = 0; quiet < quietTurns; ) {
      const before = wire.moves() + parked;
      await new Promise<void>((resolve) => setImmediate(resolve));
      const isBusy = wire.sessions().some((session) => session.busy !== undefined && !session.waits);
      if (isBusy) {
        await answered();
        await lookAgain();
      }
      quiet = !isBusy && wire.moves() + parked === before ? quiet + 1 : 0;
    }
  }

  async function sendStatement(statement: Statement): Promise<void> {
    const { actor, kind, fault } = statement;
    if (fault !== 'none') onFault(actor, kind, fault);
    if (fault === 'unsent') return finish(statement, { error: connectionLost() });
    if (fault === 'raced') return finish(statement, { error: refusal('40001') });
    if (fault === 'deadlocked') return finish(statement, { error: refusal('40P01') });
    statement.isSent = true;
    void statement.send().then(
      (rows) => (statement.answer = { rows }),
      (error: unknown) => (statement.answer = { error }),
    );
    await settle();
    await refuseSecond();
    if (statement.answer && fault !== 'slow' && !actor.isDead) await deliver(statement);
    else trace.step(`${actor.name} ${kind} … ${statement.answer ? 'is slow' : 'waits'}`);
  }

  /**
   * Of two who wait, it would be a matter of chance who gets on first. So nobody waits beside another: whoever comes second
   * is told at once what it would have been told after a while.
   */
  async function refuseSecond(): Promise<void> {
    const waiting = wire.sessions().filter((session) => session.waits);
    if (waiting.length < 2) return;
    const last = waiting.reduce((a, b) => (a.sentCount > b.sentCount ? a : b));
    await overseer.refuse(last, Number.isFinite(last.limits.lockMs) ? '55P03' : '57014');
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

  const isAble = (actor: Actor) => !actor.isDead && actor.pausedUntilMs <= now();

  return {
    statement: (actor, text, send) =>
      new Promise((resolve, reject) => {
        if (actor.isDead) return;
        parked++;
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
        parked++;
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
        parked++;
        const run = () => {
          try {
            resolve(work());
          } catch (error) {
            reject(error);
          }
        };
        calls.push({ actor, label, fromMs: now() + delayMs, run });
      }),

    ready: () => [
      ...statements
        .filter(({ actor, isSent, answer }) => isAble(actor) && (!isSent || answer !== undefined))
        .map((statement) => ({
          actor: statement.actor,
          label: statement.kind,
          isTimer: false,
          run: () => (statement.isSent ? deliver(statement) : sendStatement(statement)),
        })),
      ...calls
        .filter(({ actor, fromMs }) => isAble(actor) && fromMs <= now())
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
        .filter(({ actor, atMs }) => isAble(actor) && atMs <= now())
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
        ...calls.filter(({ actor }) => !actor.isDead).map(({ actor, fromMs }) => later(actor, fromMs)),
        ...statements
          .filter(({ actor, isSent, answer }) => !actor.isDead && (!isSent || answer !== undefined))
          .map(({ actor }) => actor.pausedUntilMs),
      ),

    settle,

    forget: (actor) => {
      for (const list of [statements, sleeps, calls] as { actor: Actor }[][])
        for (let i = list.length - 1; i >= 0; i--) if (list[i]?.actor === actor) list.splice(i, 1);
    },

    isCalling: (actor, label, forMs = 0) =>
      calls.some(
        (call) =>
          call.actor === actor &&
          call.label.startsWith(label) &&
          (forMs === 0 || call.fromMs >= now() + forMs),
      ),
  };
}

const later = (actor: Actor, atMs: number) => Math.max(actor.pausedUntilMs, atMs);

/** What the client says when its socket is gone. */
const connectionLost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

function outcomeOf(answer: { rows: unknown } | { error: unknown }): string {
  if ('error' in answer) {
    const { code, message } = answer.error as { code?: string; message?: string };
    return code ?? message ?? 'error';
  }
  return Array.isArray(answer.rows) ? `${answer.rows.length}` : 'done';
}
