import type { Config } from '../config/settings.ts';
import type { Connector, JobType } from '../contract/connector.ts';
import type { Ports } from '../platform/ports.ts';
import { isSuspect } from '../schedule/losses.ts';
import {
  blockStuck,
  deferJobs,
  endBackoffs,
  findLanes,
  lockReady,
  markRunning,
  type ReadyRow,
} from '../store/claims.ts';
import { type Database, enableTriggers } from '../store/database.ts';
import { isConflict, violatedConstraint } from '../store/database-errors.ts';
import type { ClaimPosition } from './claim-position.ts';
import { type ForeignJob, returnToOwners } from './ownership.ts';
import type { RunResources } from './resources.ts';

export interface ExecutorContext {
  db: Database;
  config: Config['executor'];
  rateLimit: Config['rateLimit'];
  ports: Ports;
  resources: RunResources;
  connectors: ReadonlyMap<string, Connector>;
}

export interface ClaimedJob {
  id: string;
  /** Fencing token. */
  claimId: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  type: JobType;
  priority: number;
  attempts: number;
  scheduledAt: Date;
  startedAt: Date;
  /** Of the latest incremental job. */
  lastEndedAt: Date | undefined;
  /** For a budget; has no due time. */
  wasParked: boolean;
  /** EXE-9: two processes in a row died while they ran jobs of the connection. */
  isSuspect: boolean;
  /** JSON text. Each reader parses its own copy: a connector may modify it. */
  cursor: string | undefined;
  connection: {
    externalId: string | undefined;
    credentialId: string | undefined;
    /** JSON text. */
    config: string;
    /** JSON text. */
    metadata: string;
  };
}

/** Bounds the transaction's duration. */
const maxBackoffsEnded = 1000;

export interface Claim {
  jobs: ClaimedJob[];
  foreign: ForeignJob[];
  /** More jobs may be ready. */
  full: boolean;
  /** Jobs moved to a later claim: an empty one is not contention. */
  progressed: boolean;
}

export interface ClaimRequest {
  processId: string;
  claimId: string;
  limit: number;
  /** Up to `limit` per lane, as the first jobs are locked. */
  scanAll: boolean;
  position: ClaimPosition;
  /** A `retry_after` may have passed. */
  endsBackoffs: boolean;
  /** EXE-9: allows one suspect. */
  takesSuspect: boolean;
}

/** Only uncommitted unique index entries block a claim. */
const claimLockTimeoutMs = 1000;

/** EXE-1 to EXE-3: skips rows that other transactions lock, so concurrent claims take different jobs. */
export async function claim(
  context: ExecutorContext,
  { processId, claimId, limit, scanAll, position, endsBackoffs, takesSuspect }: ClaimRequest,
): Promise<Claim> {
  const { db, ports, connectors } = context;
  const providers = [...connectors.keys()];
  try {
    return await db.transaction(
      async (tx) => {
        const { now } = tx;
        const scanned = async () => {
          const startedMs = ports.monotonicMs();
          const lanes = scanAll ? undefined : position.resumeFrom(startedMs);
          const found = await lockReady(tx, { now, providers, limit, scanAll, lanes });
          return { lanes, rows: found.sort(byOrder), tookMs: ports.monotonicMs() - startedMs };
        };
        let scan = await scanned();
        if (endsBackoffs) {
          // EXE-2: after the scan; a backoff that ended before a scanned job was queued is visible here.
          const ended = await endBackoffs(tx, { now, providers, limit: maxBackoffsEnded });
          if (ended === maxBackoffsEnded) return { ...nothing, progressed: true };
          if (ended > 0) scan = await scanned();
        }
        const { lanes, rows } = scan;
        const isFull = rows.length >= limit;
        await position.record({ ...scan, isFull }, ports.monotonicMs(), () => findLanes(tx, providers));
        const foreign = await returnToOwners(
          tx,
          now,
          rows.filter((row) => row.is_foreign),
        );
        const first = onePerConnection(
          rows.filter((row) => row.connection_status === 'active' && !row.is_foreign),
        );
        const surplus = surplusSuspects(first, takesSuspect);
        const chosen = first.filter((row) => !surplus.has(row)).slice(0, limit);
        // Triggers block siblings of running jobs.
        if (rows.some((row) => row.has_siblings)) await enableTriggers(tx);
        const running = await markRunning(tx, { processId, claimId, ids: chosen.map((row) => row.id) });
        await blockStuck(
          tx,
          rows.filter((row) => !running.has(row.id)),
        );
        await deferJobs(tx, deferrals([...surplus], now));
        const jobs = chosen.filter((row) => running.has(row.id)).map((row) => toJob(row, claimId, now));
        // A partial scan may have missed jobs.
        const progressed = foreign.length + surplus.size > 0;
        const full = isFull || lanes !== undefined || progressed;
        return { jobs, full, foreign, progressed };
      },
      {
        timeoutMs: statementTimeoutMs(context.config),
        lockTimeoutMs: claimLockTimeoutMs,
        triggers: 'off',
        plans: 'generic',
        // If a server crash loses the claim, the fence rejects the commit.
        durable: false,
      },
    );
  } catch (error) {
    // Another client started a job without the connection's lock.
    if (isConflict(error) || violatedConstraint(error) === 'idx_sync_jobs_running') return nothing;
    throw error;
  }
}

/** `full`: the caller claims again. */
const nothing: Claim = { jobs: [], foreign: [], full: true, progressed: false };

/** EXE-9: one suspect at a time limits the jobs lost with a process. */
function surplusSuspects(rows: ReadyRow[], takesSuspect: boolean): Set<ReadyRow> {
  return new Set(rows.filter((row) => isSuspect(row.losses)).slice(takesSuspect ? 1 : 0));
}

/** Suspects leave the head of the lane and return one by one. */
const deferStepMs = 2000;
const maxDeferMs = 60_000;

function deferrals(rows: ReadyRow[], now: Date) {
  return rows.map(({ id }, i) => ({
    id,
    until: new Date(now.getTime() + Math.min((i + 1) * deferStepMs, maxDeferMs)),
  }));
}

/**
 * Half the lease, from 5 s, for a busy database, to 15 s. A statement may outlast a lease below 5 s: the reaper
 * requeues what it claimed, and the fence rejects a commit of requeued jobs.
 */
export function statementTimeoutMs({ leaseSeconds }: Config['executor']): number {
  return Math.min(15_000, Math.max(5000, leaseSeconds * 500));
}

function byOrder(a: ReadyRow, b: ReadyRow): number {
  return b.priority - a.priority || a.scheduled_at.getTime() - b.scheduled_at.getTime();
}

/** EXE-3. The first blocks the others. */
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
    cursor: row.cursor === null || row.cursor === 'null' ? undefined : row.cursor,
    connection: {
      externalId: row.external_id ?? undefined,
      credentialId: row.credential_id ?? undefined,
      config: row.config,
      metadata: row.metadata ?? '{}',
    },
  };
}
