import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Connector, JobType, Signal } from '../contract/connector.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { judge, type Verdict } from '../pipeline/judge.ts';
import { redactorFor, run } from '../pipeline/run.ts';
import { RunAbort } from '../pipeline/run-abort.ts';
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
    | 'clock'
  > {
  /** Aborts the run, as a lost lease does. */
  abortSignal?: AbortSignal | undefined;
}

export interface MemoryRun {
  /** The job; retries keep its id. */
  job: { id: string; type: JobType; attempts: number };
  outcome: Verdict['outcome'];
  stored: number;
  /** Signals deduplicated by key. */
  absorbed: number;
  error: Verdict['error'];
  /** Earliest time of the retry. */
  retryAfter: Date | undefined;
  warning: string | undefined;
  hasMore: boolean;
  /** The next job; its earliest time if delayed. */
  next: { type: JobType; notBefore: Date | undefined } | undefined;
}

/** A signal as stored. */
export interface MemorySignal extends Omit<Signal, 'occurredAt' | 'dedupeKey'> {
  occurredAt: string;
  dedupeKey: string | null;
}

/** A connection in memory, by the engine's rules. */
export interface MemoryConnection {
  readonly signals: readonly MemorySignal[];
  readonly cursor: unknown;
  readonly status: 'active' | 'needs_auth';
  /** A follow-up or retry is queued. */
  readonly isWaiting: boolean;
  /** Runs the queued or a new job without delay: a job in backoff runs, a `needs_auth` connection resumes. */
  run(options?: RunChoice): Promise<MemoryRun>;
  /** Runs jobs until none follows or one fails. */
  sync(options?: { type?: JobType; maxRuns?: number }): Promise<MemoryRun[]>;
}

export interface RunChoice {
  type?: JobType;
  abortSignal?: AbortSignal;
  /** Simulates a crash before the commit: requeues the job unchanged. */
  lost?: boolean;
}

interface WaitingJob {
  id: string;
  type: JobType;
  cursor: unknown;
  attempts: number;
  scheduledAt: Date;
}

/** Without jitter. */
const policy = { baseSeconds: 5, maxSeconds: 900, jitterFactor: 0 };
/** Bounds endless walks. */
const defaultRuns = 10_000;

export function connectInMemory(connector: Connector, options: MemoryOptions = {}): MemoryConnection {
  const connectionId = options.connectionId ?? randomUUID();
  const tenantId = randomUUID();
  const signals: MemorySignal[] = [];
  const keys = new Set<string>();
  let cursor = options.cursor;
  let status: MemoryConnection['status'] = 'active';
  let waiting: WaitingJob | undefined;
  const { credentials, budgets, fetch, clock } = memoryContext(options);
  const { now } = clock;

  const createJob = (type: JobType, own?: unknown): WaitingJob => ({
    id: randomUUID(),
    type,
    cursor: own,
    attempts: 0,
    scheduledAt: new Date(now()),
  });

  async function runJob(
    type: JobType,
    abortSignal: AbortSignal | undefined,
    lost: boolean,
  ): Promise<MemoryRun> {
    const current = waiting ?? createJob(type);
    waiting = undefined;
    status = 'active';
    const job = claimedJob(current);
    const redactor = redactorFor(job, connector);
    const abort = new RunAbort();
    const end = () => abort.abort(abortSignal?.reason);
    if (abortSignal?.aborted) end();
    abortSignal?.addEventListener('abort', end);
    const ended = await run(job, connector, {
      abort,
      log: () => options.log ?? pino({ level: 'silent' }),
      resources: { credentials: () => credentials, budgets: () => budgets, fetch, clock },
      redactor,
    });
    abortSignal?.removeEventListener('abort', end);
    const verdict = judge(job, ended, { policy, nowMs: now(), random: 0, redact: redactor.redact });
    // Aborted and crashed runs have lost their job.
    if (!lost && !abort.isAborted) return store(current, verdict);
    waiting = current;
    return { ...reportOf(current, verdict), stored: 0, absorbed: 0 };
  }

  function claimedJob({ id, type, cursor: own, attempts, scheduledAt }: WaitingJob): ClaimedJob {
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
      cursor: own === undefined ? undefined : JSON.stringify(own),
      connection: {
        externalId: options.externalId,
        credentialId: credentials.id,
        config: JSON.stringify(options.config ?? {}),
        metadata: JSON.stringify({ ...options.metadata, sync }),
      },
    };
  }

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
    else if (followUp) waiting = createJob(followUp.type, parseColumn(followUp.cursor));
    return {
      ...reportOf(current, verdict),
      stored: fresh.length,
      absorbed: verdict.signals.length - fresh.length,
    };
  }

  const runNext = ({
    type = 'incremental',
    abortSignal = options.abortSignal,
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
    run: runNext,
    async sync({ type = 'incremental', maxRuns = defaultRuns } = {}) {
      const runs: MemoryRun[] = [];
      for (let left = maxRuns; left > 0; left--) {
        const ended = await runNext({ type });
        runs.push(ended);
        if (ended.outcome !== 'succeeded' || !ended.hasMore) return runs;
      }
      throw new Error(`The walk did not end within ${maxRuns} runs.`);
    },
  };
}

const parseColumn = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));

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
