import { requireOneOf, requireUuid, requireWhole } from './checks.ts';
import type { Config } from './config/settings.ts';
import type { JobType } from './connector.ts';
import { type Doer, recordEvent } from './doer.ts';
import { SynclineError } from './errors.ts';
import { type Explanation, explain } from './explain.ts';
import { jobTypes } from './jobs.ts';
import type { Ports } from './ports.ts';
import { formatInstant } from './schedule/instant.ts';
import { readSyncMetadata, syncOf } from './schedule/sync-metadata.ts';
import {
  activateConnection,
  type ConnectionRow,
  findConnection,
  lockConnection,
  setConnectionStatus,
} from './store/connections.ts';
import type { Database, Queryable } from './store/database.ts';
import { type EventKind, latestEvents } from './store/events.ts';
import { askForRerun, bringForward, endedJobs, pendingJobs } from './store/jobs.ts';
import { findProcesses } from './store/processes.ts';
import { insertFollowUps } from './store/settlements.ts';
import { wakeExecutors } from './store/wake.ts';

/** What a trigger did. */
export interface Triggered {
  /** The job that runs because of it; the running one if another is to follow it. */
  jobId: string;
  /** `queued` anew, one that waited `brought forward`, or one that `follows` the one that is running. */
  effect: 'queued' | 'brought forward' | 'follows';
}

/** Ahead of everything the scheduler places: somebody is waiting for it. */
const triggerPriority = 10;

/** What people do to a connection, apart from its schedule. */
export function createControl({
  db,
  config,
  ports,
}: {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
}) {
  return {
    /**
     * Has the connection synced now. One that waits is brought forward; while one is running, exactly one more follows
     * it, however often this is called.
     */
    async trigger(
      id: string,
      options: { type?: JobType; priority?: number } & Doer = {},
    ): Promise<Triggered> {
      const { type = 'incremental', priority = triggerPriority, ...doer } = options;
      requireOneOf('type', type, jobTypes);
      requireWhole('priority', priority, -32_768, 32_767);
      return change(id, async (tx, row, now) => {
        if (row.status !== 'active')
          throw new SynclineError('CONFLICT', `Connection ${id} is ${row.status}, so nothing of it runs.`, {
            hint: 'Resume it first.',
          });
        const done = await place(tx, row, now, type, priority);
        await recordEvent(tx, now, ports, { ...of(row), jobId: done.jobId, kind: 'triggered' }, doer);
        return done;
      });
    },

    /** Runs nothing more of it until it is resumed. A run that has begun may finish; cancel its job to end it. */
    async pause(id: string, doer: Doer = {}): Promise<void> {
      await change(id, async (tx, row, now) => {
        if (row.status === 'paused') return;
        await setConnectionStatus(tx, now, [id], row.status, 'paused');
        await record(tx, row, now, 'paused', doer);
      });
    },

    /** Makes it active again, from whatever status; what waited for it runs now. */
    async resume(id: string, doer: Doer = {}): Promise<void> {
      await change(id, async (tx, row, now) => {
        if (row.status === 'active') return;
        await activateConnection(tx, now, id, formatInstant(now.getTime()));
        await record(tx, row, now, 'resumed', doer);
      });
    },

    /** One honest sentence on why it is or is not syncing right now, and when it next will. */
    async explain(id: string): Promise<Explanation> {
      requireUuid('connection', id);
      const row = await findConnection(db, id);
      if (!row) throw noConnection(id);
      const sync = readSyncMetadata(syncOf(row.metadata), config);
      const [lastEnded] = await endedJobs(db, id, 1);
      return explain({
        nowMs: ports.now(),
        status: row.status,
        provider: row.provider_slug,
        nextRunAt: sync.nextRunAtMs === undefined ? undefined : new Date(sync.nextRunAtMs),
        lastEndedAt: row.last_incremental_ended_at ?? undefined,
        tickIntervalSeconds: config.tickIntervalSeconds,
        jobs: await pendingJobs(db, id),
        lastEnded,
        events: await latestEvents(db, id, 20),
        processes: await findProcesses(db, ports.leaseTime()),
      });
    },

    /** What was done to it, by whom and why, newest first. */
    async events(id: string, { limit = 20 }: { limit?: number } = {}): Promise<ConnectionEvent[]> {
      requireUuid('connection', id);
      requireWhole('limit', limit, 1, 1000);
      const rows = await latestEvents(db, id, limit);
      return rows.map(({ kind, actor, reason, job_id, created_at }) => ({
        kind,
        actor,
        reason: reason ?? undefined,
        jobId: job_id ?? undefined,
        at: created_at,
      }));
    },
  };

  async function place(
    tx: Queryable,
    row: ConnectionRow,
    now: Date,
    type: JobType,
    priority: number,
  ): Promise<Triggered> {
    const pending = (await pendingJobs(tx, row.id, 'FOR UPDATE')).find((job) => job.job_type === type);
    if (pending?.status === 'running') {
      await askForRerun(tx, pending.id, priority);
      return { jobId: pending.id, effect: 'follows' };
    }
    if (pending) {
      await bringForward(tx, now, pending.id, priority);
      return { jobId: pending.id, effect: 'brought forward' };
    }
    const jobId = ports.newId();
    const { tenant_id: tenantId, provider_slug: providerSlug, id: connectionId } = row;
    const job = { id: jobId, tenantId, providerSlug, connectionId, type, priority };
    await insertFollowUps(tx, now, [{ ...job, cursor: null, retryAfter: null }]);
    return { jobId, effect: 'queued' };
  }

  async function record(
    tx: Queryable,
    row: ConnectionRow,
    now: Date,
    kind: EventKind,
    doer: Doer,
  ): Promise<void> {
    await recordEvent(tx, now, ports, { ...of(row), jobId: null, kind }, doer);
  }

  async function change<T>(
    id: string,
    work: (tx: Queryable, row: ConnectionRow, now: Date) => Promise<T>,
  ): Promise<T> {
    requireUuid('connection', id);
    return db.transaction(async (tx) => {
      const row = await lockConnection(tx, id);
      if (!row) throw noConnection(id);
      const result = await work(tx, row, new Date(ports.now()));
      await wakeExecutors(tx);
      return result;
    });
  }
}

/** Something that was done to a connection. */
export interface ConnectionEvent {
  kind: EventKind;
  actor: string;
  reason: string | undefined;
  jobId: string | undefined;
  at: Date;
}

const of = (row: ConnectionRow) => ({ tenantId: row.tenant_id, connectionId: row.id });
const noConnection = (id: string) => new SynclineError('NOT_FOUND', `There is no connection ${id}.`);
