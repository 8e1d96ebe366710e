import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Connector, JobType, Signal } from '../contract/connector.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { judge, type Verdict } from '../pipeline/judge.ts';
import { run, secrecyOf } from '../pipeline/run.ts';
import { systemPorts } from '../platform/ports.ts';
import { syncOf } from '../schedule/sync-metadata.ts';
import { type ContextOptions, memoryContext } from './context.ts';

export interface MemoryOptions
  extends Pick<
    ContextOptions,
    | 'connectionId'
    | 'externalId'
    | 'config'
    | 'metadata'
    | 'credential'
    | 'renew'
    | 'cursor'
    | 'log'
    | 'fetch'
    | 'budgets'
  > {
  /** Aborts the run under way, as a lost lease does. */
  abortSignal?: AbortSignal | undefined;
  /** The time of day, in milliseconds since 1970. */
  now?: (() => number) | undefined;
}

/** How one run ended. */
export interface MemoryRun {
  /** The job that was run; it keeps its id while it is tried again. */
  job: { id: string; type: JobType; attempts: number };
  outcome: Verdict['outcome'];
  /** Signals that were new. */
  stored: number;
  /** Signals that were there already, by their dedupe keys. */
  absorbed: number;
  error: Verdict['error'];
  /** The job is not tried before this time. */
  retryAfter: Date | undefined;
  warning: string | undefined;
  /** Whether a job follows. */
  hasMore: boolean;
  /** The job that follows, and the time before which it is not run where it has to wait. */
  next: { type: JobType; notBefore: Date | undefined } | undefined;
}

/** A signal as it would be read from the database. */
export interface MemorySignal extends Omit<Signal, 'occurredAt' | 'dedupeKey'> {
  occurredAt: string;
  dedupeKey: string | null;
}

/** A connection that lives in memory: the engine's own rules, without a database. */
export interface MemoryConnection {
  readonly signals: readonly MemorySignal[];
  readonly cursor: unknown;
  readonly status: 'active' | 'needs_auth';
  /** Whether a job waits: one that follows, or one that is tried again. */
  readonly isWaiting: boolean;
  /**
   * Runs the job that waits, or one of this type where none does. Nothing is waited for: a job that backs off runs now, and
   * a connection that needs its user counts as resumed.
   */
  run(options?: RunChoice): Promise<MemoryRun>;
  /** Runs jobs until nothing follows; the runs in order. It ends with the first that fails. */
  sync(options?: { type?: JobType; maxRuns?: number }): Promise<MemoryRun[]>;
}

export interface RunChoice {
  type?: JobType;
  abortSignal?: AbortSignal;
  /** The process dies before anything of the run is stored: the job goes back as it was, and no failure is counted. */
  lost?: boolean;
}

interface WaitingJob {
  id: string;
  type: JobType;
  cursor: unknown;
  attempts: number;
  scheduledAt: Date;
}

/** The engine's own defaults, without its randomness. */
const policy = { baseSeconds: 5, maxSeconds: 900, jitterFactor: 0 };
/** Longer than any walk of a test; one that does not end must not run for ever. */
const defaultRuns = 10_000;

export function connectInMemory(connector: Connector, options: MemoryOptions = {}): MemoryConnection {
  const connectionId = options.connectionId ?? randomUUID();
  const tenantId = randomUUID();
  const now = options.now ?? systemPorts.now;
  const signals: MemorySignal[] = [];
  const keys = new Set<string>();
  let cursor = options.cursor;
  let status: MemoryConnection['status'] = 'active';
  let waiting: WaitingJob | undefined;
  const { credentials, budgets, fetch } = memoryContext(options);

  const jobOf = (type: JobType, own?: unknown): WaitingJob => ({
    id: randomUUID(),
    type,
    cursor: own,
    attempts: 0,
    scheduledAt: new Date(now()),
  });

  async function runJob(type: JobType, abortSignal: AbortSignal, lost: boolean): Promise<MemoryRun> {
    const current = waiting ?? jobOf(type);
    waiting = undefined;
    status = 'active';
    const job = claimed(current);
    const secrecy = secrecyOf(job, connector);
    const end = await run(job, connector, {
      abortSignal,
      log: () => options.log ?? pino({ level: 'silent' }),
      resources: { credentials: () => credentials, budgets: () => budgets, fetch },
      secrecy,
    });
    const verdict = judge(job, end, { policy, nowMs: now(), random: 0, hide: secrecy.hide });
    // An aborted run has lost its job, as has one whose process died.
    if (!lost && !abortSignal.aborted) return store(current, verdict);
    waiting = current;
    return { ...reportOf(current, verdict), stored: 0, absorbed: 0 };
  }

  function claimed({ id, type, cursor: own, attempts, scheduledAt }: WaitingJob): ClaimedJob {
    const sync = { ...syncOf(options.metadata ?? {}), ...(cursor !== undefined && { cursor }) };
    return {
      id,
      claimId: randomUUID(),
      tenantId,
      providerSlug: connector.provider,
      connectionId,
      type,
      priority: 0,
      attempts,
      scheduledAt,
      wasParked: false,
      isSuspect: false,
      startedAt: new Date(now()),
      lastEndedAt: undefined,
      cursor: own,
      connection: {
        externalId: options.externalId,
        credentialId: credentials.id,
        config: options.config ?? {},
        metadata: { ...options.metadata, sync },
      },
    };
  }

  /** What `commit` does, in memory: all of it, or nothing. */
  function store(current: WaitingJob, verdict: Verdict): MemoryRun {
    const fresh = verdict.signals.filter(
      ({ dedupeKey }) => dedupeKey === null || (!keys.has(dedupeKey) && keys.add(dedupeKey)),
    );
    for (const { kind, occurredAt, payload, dedupeKey } of fresh)
      signals.push({ kind, occurredAt, payload: JSON.parse(payload), dedupeKey });
    if (verdict.cursor !== null) cursor = JSON.parse(verdict.cursor);
    if (verdict.needsAuth) status = 'needs_auth';
    const { followUp } = verdict;
    if (verdict.outcome === 'requeued') waiting = { ...current, attempts: current.attempts + 1 };
    else if (followUp) waiting = jobOf(followUp.type, parsed(followUp.cursor));
    return {
      ...reportOf(current, verdict),
      stored: fresh.length,
      absorbed: verdict.signals.length - fresh.length,
    };
  }

  const never = new AbortController().signal;
  const start = ({
    type = 'incremental',
    abortSignal = options.abortSignal ?? never,
    lost = false,
  }: RunChoice = {}) => runJob(type, abortSignal, lost);
  return {
    signals,
    get cursor() {
      return cursor;
    },
    get status() {
      return status;
    },
    get isWaiting() {
      return waiting !== undefined;
    },
    run: start,
    async sync({ type = 'incremental', maxRuns = defaultRuns } = {}) {
      const runs: MemoryRun[] = [];
      for (let left = maxRuns; left > 0; left--) {
        const ended = await start({ type });
        runs.push(ended);
        if (ended.outcome !== 'succeeded' || !ended.hasMore) return runs;
      }
      throw new Error(`The walk did not end within ${maxRuns} runs.`);
    },
  };
}

/** As a column of the database gives it: one that holds null holds nothing. */
const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));

function reportOf(
  { id, type, attempts }: WaitingJob,
  { outcome, error, retryAfter, warning, followUp }: Verdict,
): Omit<MemoryRun, 'stored' | 'absorbed'> {
  return {
    job: { id, type, attempts },
    outcome,
    error,
    retryAfter: retryAfter ?? undefined,
    warning,
    hasMore: followUp !== undefined,
    next: nextOf(),
  };

  function nextOf(): MemoryRun['next'] {
    if (outcome === 'requeued') return { type, notBefore: retryAfter ?? undefined };
    return followUp && { type: followUp.type, notBefore: followUp.retryAfter ?? undefined };
  }
}
