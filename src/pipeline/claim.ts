import type { Config } from '../config/settings.ts';
import type { Connector, JobType } from '../connector.ts';
import { isObject } from '../is-object.ts';
import type { Ports } from '../ports.ts';
import { blockStuck, endBackoffs, lockReady, markRunning, type ReadyRow } from '../store/claims.ts';
import { type Database, hearTriggers } from '../store/database.ts';
import { isLostRace, violatedConstraint } from '../store/database-errors.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Lanes } from './lanes.ts';
import type { RunResources } from './resources.ts';

export interface ExecutorContext {
  db: Database;
  config: Config['executor'];
  rateLimit: Config['rateLimit'];
  ports: Ports;
  telemetry: Telemetry;
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
  /** The job's own cursor, if it has one. */
  cursor: unknown;
  connection: {
    externalId: string | undefined;
    credentialId: string | undefined;
    config: unknown;
    metadata: Record<string, unknown>;
  };
}

/** More than this many ends of backing off at once are left for the next claim, so that none takes long. */
const mostBackoffsEnded = 1000;

export interface Claim {
  jobs: ClaimedJob[];
  /** Whether as many were met as were asked for, so that there may be more. */
  full: boolean;
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
}

/** Nothing is waited for but an index entry that somebody else is just making. */
const patienceMs = 1000;

/** EXE-1 to EXE-3: takes up to `limit` due jobs for a process, in order, no two of one connection. */
export async function claim(
  context: ExecutorContext,
  { processId, claimId, limit, thorough, lanes, endsBackoffs }: ClaimRequest,
): Promise<Claim> {
  const { db, ports, connectors } = context;
  const providers = [...connectors.keys()];
  const now = new Date(ports.now());
  const mark = { now, leaseTime: ports.leaseTime(), processId, claimId };
  try {
    return await db.transaction(
      async (tx) => {
        if (endsBackoffs) await endBackoffs(tx, { now, providers, limit: mostBackoffsEnded });
        const startedMs = ports.monotonicMs();
        const known = thorough ? undefined : lanes.known(startedMs);
        const found = await lockReady(tx, { now, providers, limit, thorough, lanes: known });
        const rows = found.sort(byOrder);
        const isFull = rows.length >= limit;
        const lookedMs = ports.monotonicMs();
        lanes.learn({ lanes: known, rows, isFull, tookMs: lookedMs - startedMs }, lookedMs);
        const chosen = onePerConnection(rows.filter((row) => row.connection_status === 'active')).slice(
          0,
          limit,
        );
        // Who runs keeps the others of its connection back; where there are none, the triggers have nothing to do.
        if (rows.some((row) => row.has_siblings)) await hearTriggers(tx);
        const running = await markRunning(tx, { ...mark, ids: chosen.map((row) => row.id) });
        await blockStuck(
          tx,
          rows.filter((row) => !running.has(row.id)),
        );
        const jobs = chosen.filter((row) => running.has(row.id)).map((row) => toJob(row, claimId, now));
        // Beyond the lanes that are known there may be more, however few there were in them.
        return { jobs, full: isFull || known !== undefined };
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
    if (isLostRace(error) || violatedConstraint(error) === 'idx_sync_jobs_running')
      return { jobs: [], full: true };
    throw error;
  }
}

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
    cursor: row.cursor ?? undefined,
    connection: {
      externalId: row.external_id ?? undefined,
      credentialId: row.credential_id ?? undefined,
      config: row.config,
      metadata: isObject(row.metadata) ? row.metadata : {},
    },
  };
}
