import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Connector, JobType, Signal } from '../connector.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { judge, type Verdict } from '../pipeline/judge.ts';
import { run } from '../pipeline/run.ts';
import { type ContextOptions, memoryContext } from './context.ts';

export interface MemoryOptions
  extends Pick<
    ContextOptions,
    | 'connectionId'
    | 'externalId'
    | 'config'
    | 'metadata'
    | 'credential'
    | 'cursor'
    | 'log'
    | 'fetch'
    | 'budgets'
  > {
  /** Aborts the run under way, as a lost lease does. */
  abortSignal?: AbortSignal | undefined;
}

/** How one run ended. */
export interface MemoryRun {
  outcome: Verdict['outcome'];
  /** Signals that were new. */
  stored: number;
  /** Signals that were there already, by their dedupe keys. */
  absorbed: number;
  error: Verdict['error'];
  /** The job is not tried before this time. */
  retryAfter: Date | undefined;
  warning: string | undefined;
  /** Whether a job follows at once. */
  hasMore: boolean;
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
  /** Runs the job that waits, or one of this type. */
  run(options?: RunChoice): Promise<MemoryRun>;
  /** Runs jobs until nothing follows; the runs in order. It ends with the first that fails. */
  sync(options?: { type?: JobType; mostRuns?: number }): Promise<MemoryRun[]>;
}

export interface RunChoice {
  type?: JobType;
  abortSignal?: AbortSignal;
  /** The process dies before anything of the run is stored: the job goes back as it was, and no failure is counted. */
  lost?: boolean;
}

interface WaitingJob {
  type: JobType;
  cursor: unknown;
  attempts: number;
}

const policy = { baseSeconds: 5, maxSeconds: 900, jitterFactor: 0 };

export function connectInMemory(connector: Connector, options: MemoryOptions = {}): MemoryConnection {
  const connectionId = options.connectionId ?? randomUUID();
  const signals: MemorySignal[] = [];
  const keys = new Set<string>();
  let cursor = options.cursor;
  let status: MemoryConnection['status'] = 'active';
  let waiting: WaitingJob | undefined;
  const { credentials, budgets, fetch } = memoryContext(options);

  async function runJob(type: JobType, abortSignal: AbortSignal, lost: boolean): Promise<MemoryRun> {
    const current = waiting ?? { type, cursor: undefined, attempts: 0 };
    waiting = undefined;
    const job = claimed(current);
    const end = await run(job, connector, {
      abortSignal,
      log: () => options.log ?? pino({ level: 'silent' }),
      resources: { credentials: () => credentials, budgets: () => budgets, fetch },
    });
    const verdict = judge(job, end, { policy, nowMs: Date.now(), random: 0 });
    // An aborted run has lost its job, as has one whose process died.
    if (!lost && !abortSignal.aborted) return store(current, verdict);
    waiting = current;
    return { ...reportOf(verdict), stored: 0, absorbed: 0 };
  }

  function claimed({ type, cursor: own, attempts }: WaitingJob): ClaimedJob {
    return {
      id: randomUUID(),
      claimId: randomUUID(),
      tenantId: randomUUID(),
      providerSlug: connector.provider,
      connectionId,
      type,
      priority: 0,
      attempts,
      scheduledAt: new Date(),
      startedAt: new Date(),
      lastEndedAt: undefined,
      cursor: own,
      connection: {
        externalId: options.externalId,
        credentialId: credentials.id,
        config: options.config ?? {},
        metadata: { ...options.metadata, sync: { cursor } },
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
    else if (followUp)
      waiting = {
        type: followUp.type,
        cursor: followUp.cursor === null ? undefined : JSON.parse(followUp.cursor),
        attempts: 0,
      };
    return {
      ...reportOf(verdict),
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
    run: start,
    async sync({ type = 'incremental', mostRuns = 10_000 } = {}) {
      const runs: MemoryRun[] = [];
      for (let left = mostRuns; left > 0; left--) {
        const ended = await start({ type });
        runs.push(ended);
        if (ended.outcome !== 'succeeded' || !ended.hasMore) return runs;
      }
      throw new Error(`The walk did not end within ${mostRuns} runs.`);
    },
  };
}

function reportOf({
  outcome,
  error,
  retryAfter,
  warning,
  followUp,
}: Verdict): Omit<MemoryRun, 'stored' | 'absorbed'> {
  return {
    outcome,
    error,
    retryAfter: retryAfter ?? undefined,
    warning,
    hasMore: followUp !== undefined,
  };
}
