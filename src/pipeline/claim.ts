import type { Config } from '../config/settings.ts';
import type { Connector, JobType } from '../contract/connector.ts';
import type { Ports } from '../platform/ports.ts';
import { isSuspect } from '../schedule/losses.ts';
import {
  blockStuck,
  correctOwners,
  deferJobs,
  endBackoffs,
  findForeign,
  lockReady,
  markRunning,
  type ReadyRow,
} from '../store/claims.ts';
import { type Database, enableTriggers, type Queryable } from '../store/database.ts';
import { isLostRace, violatedConstraint } from '../store/database-errors.ts';
import { wakeExecutors } from '../store/wake.ts';
import { isObject } from '../values/is-object.ts';
import type { Lanes } from './claim-position.ts';
import type { RunResources } from './resources.ts';

export interface ExecutorContext {
  db: Database;
  config: Config['executor'];
  rateLimit: Config['rateLimit'];
  ports: Ports;
  /** What runs use besides their connection. */
  resources: RunResources;
  /** By the slug of their provider. */
  connectors: ReadonlyMap<string, Connector>;
}

/** A job that this process runs, as it was when it was claimed. */
export interface ClaimedJob {
  id: string;
  /** The claim under which everything that its run finds is written. */
  claimId: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  type: JobType;
  priority: number;
  attempts: number;
  scheduledAt: Date;
  startedAt: Date;
  /** When the connection's latest incremental job had ended. */
  lastEndedAt: Date | undefined;
  /** It has waited for a budget. When it was due after that is no longer known, as after a failure. */
  wasParked: boolean;
  /** EXE-9: processes that ran its connection died several times in a row. */
  isSuspect: boolean;
  /** The job's own cursor, if it has one. */
  cursor: unknown;
  connection: {
    externalId: string | undefined;
    credentialId: string | undefined;
    config: unknown;
    metadata: Record<string, unknown>;
  };
}

/** Backoffs ended per transaction, so that each stays short. */
const maxBackoffsEnded = 1000;

/** A job whose tenant or provider was not that of its connection, as it was before it was corrected. */
export type ForeignJob = Pick<ClaimedJob, 'id' | 'connectionId' | 'tenantId' | 'providerSlug'>;

export interface Claim {
  jobs: ClaimedJob[];
  /** Jobs that were corrected instead of being run. */
  foreign: ForeignJob[];
  /** Whether as many were met as were asked for, so that there may be more. */
  full: boolean;
  /** Whether jobs were moved to where a later claim finds them, so that an empty claim is no sign of contention. */
  progressed: boolean;
}

export interface ClaimRequest {
  processId: string;
  claimId: string;
  limit: number;
  /** Looks in every lane for as many as are wanted: what comes first is held by somebody who does not let go. */
  thorough: boolean;
  /** Where the process has found jobs before. */
  lanes: Lanes;
  /** Whether a time of backing off may be over. */
  endsBackoffs: boolean;
  /** EXE-9: whether a suspect may be among them; one at most is. */
  takesSuspect: boolean;
}

/** Nothing is waited for but an index entry that somebody else is just making. */
const patienceMs = 1000;

/** EXE-1 to EXE-3: takes up to `limit` due jobs for a process, in order, no two of one connection. */
export async function claim(
  context: ExecutorContext,
  { processId, claimId, limit, thorough, lanes, endsBackoffs, takesSuspect }: ClaimRequest,
): Promise<Claim> {
  const { db, ports, connectors } = context;
  const providers = [...connectors.keys()];
  try {
    return await db.transaction(
      async (tx) => {
        const { now } = tx;
        // EXE-2: the order is known only once every ended backoff is in line, so nothing is claimed before that.
        if (
          endsBackoffs &&
          (await endBackoffs(tx, { now, providers, limit: maxBackoffsEnded })) === maxBackoffsEnded
        )
          return { ...nothing, progressed: true };
        const startedMs = ports.monotonicMs();
        const known = thorough ? undefined : lanes.known(startedMs);
        const found = await lockReady(tx, { now, providers, limit, thorough, lanes: known });
        const rows = found.sort(byOrder);
        const isFull = rows.length >= limit;
        const lookedMs = ports.monotonicMs();
        lanes.learn({ lanes: known, rows, isFull, tookMs: lookedMs - startedMs }, lookedMs);
        const foreign = rows.filter((row) => row.is_foreign);
        await returnToOwners(tx, now, foreign);
        const first = onePerConnection(
          rows.filter((row) => row.connection_status === 'active' && !row.is_foreign),
        );
        const surplus = surplusSuspects(first, takesSuspect);
        const chosen = first.filter((row) => !surplus.has(row)).slice(0, limit);
        // Who runs keeps the others of its connection back; where there are none, the triggers have nothing to do.
        if (rows.some((row) => row.has_siblings)) await enableTriggers(tx);
        const running = await markRunning(tx, { processId, claimId, ids: chosen.map((row) => row.id) });
        await blockStuck(
          tx,
          rows.filter((row) => !running.has(row.id)),
        );
        await deferJobs(tx, deferrals([...surplus], now));
        const jobs = chosen.filter((row) => running.has(row.id)).map((row) => toJob(row, claimId, now));
        // Beyond the lanes that are known there may be more, however few there were in them.
        const progressed = foreign.length + surplus.size > 0;
        const full = isFull || known !== undefined || progressed;
        return { jobs, full, foreign: foreign.map(foreignJob), progressed };
      },
      {
        timeoutMs: statementTimeoutMs(context.config),
        lockTimeoutMs: patienceMs,
        triggers: 'off',
        // A claim that is undone was never made: its job is in line again, and its run is told by the fence.
        durable: false,
      },
    );
  } catch (error) {
    // Somebody started a job of one of these connections without locking the connection: look again.
    if (isLostRace(error) || violatedConstraint(error) === 'idx_sync_jobs_running') return nothing;
    throw error;
  }
}

/** Looks again, because something was in the way. */
const nothing: Claim = { jobs: [], foreign: [], full: true, progressed: false };

/** EXE-9: those that would run beside another suspect, so that more would die with it than need be. */
function surplusSuspects(rows: ReadyRow[], takesSuspect: boolean): Set<ReadyRow> {
  return new Set(rows.filter((row) => isSuspect(row.losses)).slice(takesSuspect ? 1 : 0));
}

/** One after the other, so that they leave the head of their lane, and do not all come back to it together. */
const deferStepMs = 2000;
const maxDeferMs = 60_000;

function deferrals(rows: ReadyRow[], now: Date) {
  return rows.map(({ id }, i) => ({
    id,
    until: new Date(now.getTime() + Math.min((i + 1) * deferStepMs, maxDeferMs)),
  }));
}

type ForeignRow = Pick<ReadyRow, 'id' | 'connection_id' | 'tenant_id' | 'provider_slug'>;

/** EXE-13: in the right lane a later claim finds them, of this process or of one that has their connector. */
async function returnToOwners(tx: Queryable, now: Date, foreign: ForeignRow[]): Promise<void> {
  if (foreign.length === 0) return;
  await correctOwners(
    tx,
    now,
    foreign.map((row) => row.id),
  );
  await wakeExecutors(tx);
}

/**
 * EXE-13: corrects jobs that wait under a provider for which this process has no connector. It may be one that no process has a
 * connector for, and then no claim would find them. Returns them as they were.
 */
export async function rescueForeign(
  db: Queryable,
  now: Date,
  providers: readonly string[],
): Promise<ForeignJob[]> {
  if (providers.length === 0) return [];
  const foreign = await findForeign(db, providers);
  await returnToOwners(db, now, foreign);
  return foreign.map(foreignJob);
}

const foreignJob = (row: ForeignRow): ForeignJob => ({
  id: row.id,
  connectionId: row.connection_id,
  tenantId: row.tenant_id,
  providerSlug: row.provider_slug,
});

/** A statement that hangs must be given up long before the lease is, but not because the database is busy. */
export function statementTimeoutMs({ leaseSeconds }: Config['executor']): number {
  return Math.min(15_000, Math.max(5000, leaseSeconds * 500));
}

function byOrder(a: ReadyRow, b: ReadyRow): number {
  return b.priority - a.priority || a.scheduled_at.getTime() - b.scheduled_at.getTime();
}

/** EXE-3 within a batch: the first one counts. Marking it blocks the others. */
function onePerConnection(rows: ReadyRow[]): ReadyRow[] {
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(row.connection_id) && seen.add(row.connection_id));
}

function toJob(row: ReadyRow, claimId: string, startedAt: Date): ClaimedJob {
  return {
    id: row.id,
    claimId,
    tenantId: row.tenant_id,
    providerSlug: row.provider_slug,
    connectionId: row.connection_id,
    type: row.job_type,
    priority: row.priority,
    attempts: row.attempts,
    scheduledAt: row.scheduled_at,
    startedAt,
    lastEndedAt: row.last_incremental_ended_at ?? undefined,
    wasParked: row.was_parked,
    isSuspect: isSuspect(row.losses),
    cursor: row.cursor ?? undefined,
    connection: {
      externalId: row.external_id ?? undefined,
      credentialId: row.credential_id ?? undefined,
      config: row.config,
      metadata: isObject(row.metadata) ? row.metadata : {},
    },
  };
}
