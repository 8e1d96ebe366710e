import { requireOneOf, requireUuid, requireWhole } from './checks.ts';
import type { JobType } from './connector.ts';
import { type Doer, recordEvent } from './doer.ts';
import { SynclineError } from './errors.ts';
import type { Ports } from './ports.ts';
import { lockConnection } from './store/connections.ts';
import type { Database } from './store/database.ts';
import {
  bringForward,
  cancelJob,
  endedJobs,
  findJob,
  type JobRow,
  type JobStatus,
  listJobs,
  pendingJobs,
} from './store/jobs.ts';
import { insertFollowUps } from './store/settlements.ts';
import { recheckRuns, wakeExecutors } from './store/wake.ts';

/** One run of a connector, waiting, under way or ended. */
export interface Job {
  id: string;
  tenantId: string;
  provider: string;
  connectionId: string;
  type: JobType;
  status: JobStatus;
  priority: number;
  /** Failures so far. */
  attempts: number;
  scheduledAt: Date;
  /** It is not tried before this time. */
  retryAfter: Date | undefined;
  startedAt: Date | undefined;
  finishedAt: Date | undefined;
  /** Its own cursor, if it has one. */
  cursor: unknown;
  /** What went wrong last. */
  error: { kind: string; name: string; message: string; at: string } | undefined;
  /** Queued, but its connection is not active or runs another job. */
  blocked: boolean;
  createdAt: Date;
}

const jobStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export const jobTypes = ['incremental', 'full', 'webhook'] as const;
/** More would be a page that nobody reads. */
export const mostListed = 1000;

export type Jobs = ReturnType<typeof createJobs>;

export function createJobs({ db, ports }: { db: Database; ports: Ports }) {
  return {
    /** The newest jobs first; of one connection those that are pending, then those that ended. */
    async list(
      filter: {
        connectionId?: string;
        status?: JobStatus;
        provider?: string;
        type?: JobType;
        limit?: number;
      } = {},
    ): Promise<Job[]> {
      const { connectionId, status, provider, type, limit = 20 } = filter;
      requireWhole('limit', limit, 1, mostListed);
      if (status !== undefined) requireOneOf('status', status, jobStatuses);
      if (type !== undefined) requireOneOf('type', type, jobTypes);
      if (connectionId === undefined)
        return (await listJobs(db, { status, provider, type, limit })).map(toJob);
      requireUuid('connection', connectionId);
      const rows = [
        ...(await pendingJobs(db, connectionId)),
        ...(await endedJobs(db, connectionId, mostListed)),
      ];
      return rows
        .filter(
          (row) =>
            (status ?? row.status) === row.status &&
            (type ?? row.job_type) === row.job_type &&
            (provider ?? row.provider_slug) === row.provider_slug,
        )
        .slice(0, limit)
        .map(toJob);
    },

    async get(id: string): Promise<Job> {
      return toJob(await existing(id));
    },

    /**
     * Ends a job that is queued or running. A running one is aborted, and nothing that it still finds is stored. The
     * connection's next run comes at its usual time, counted from now.
     */
    async cancel(id: string, doer: Doer = {}): Promise<Job> {
      return change(id, async (tx, job, now) => {
        if (job.status !== 'queued' && job.status !== 'running')
          throw new SynclineError('CONFLICT', `Job ${id} has ended already: it is ${job.status}.`);
        await cancelJob(tx, now, id);
        await recheckRuns(tx);
        await recordEvent(tx, now, ports, { ...of(job), kind: 'cancelled' }, doer);
        return id;
      });
    },

    /** Runs a job again: one that backs off at once, one that has ended as a new job, from the connection's cursor. */
    async retry(id: string, doer: Doer = {}): Promise<Job> {
      return change(id, async (tx, job, now) => {
        if (job.status === 'running')
          throw new SynclineError('CONFLICT', `Job ${id} is running.`, {
            hint: 'Cancel it first, or trigger its connection to have it run once more.',
          });
        await recordEvent(tx, now, ports, { ...of(job), kind: 'retried' }, doer);
        if (job.status === 'queued') {
          await bringForward(tx, now, id, job.priority);
          return id;
        }
        const sameType = (row: JobRow) => row.job_type === job.job_type;
        const pending = (await pendingJobs(tx, job.connection_id, 'FOR UPDATE')).find(sameType);
        if (pending?.status === 'running')
          throw new SynclineError('CONFLICT', `A ${job.job_type} job of this connection is running.`, {
            hint: 'Trigger the connection to have one more follow it.',
          });
        await insertFollowUps(tx, now, [
          {
            id: ports.newId(),
            tenantId: job.tenant_id,
            providerSlug: job.provider_slug,
            connectionId: job.connection_id,
            type: job.job_type,
            priority: job.priority,
            cursor: null,
            retryAfter: null,
          },
        ]);
        const queued = (await pendingJobs(tx, job.connection_id)).find(sameType);
        return queued?.id ?? id;
      });
    },
  };

  async function existing(id: string): Promise<JobRow> {
    requireUuid('job', id);
    const row = await findJob(db, id);
    if (!row) throw noJob(id);
    return row;
  }

  /** Connection before job, as everybody locks them. */
  async function change(
    id: string,
    work: (
      tx: Parameters<Parameters<Database['transaction']>[0]>[0],
      job: JobRow,
      now: Date,
    ) => Promise<string>,
  ): Promise<Job> {
    const { connection_id } = await existing(id);
    const changed = await db.transaction(async (tx) => {
      await lockConnection(tx, connection_id);
      const job = await findJob(tx, id, 'FOR UPDATE');
      if (!job) throw noJob(id);
      const result = await work(tx, job, new Date(ports.now()));
      await wakeExecutors(tx);
      return result;
    });
    return toJob(await existing(changed));
  }
}

const of = (job: JobRow) => ({ tenantId: job.tenant_id, connectionId: job.connection_id, jobId: job.id });
const noJob = (id: string) => new SynclineError('NOT_FOUND', `There is no job ${id}.`);

function toJob(row: JobRow): Job {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    connectionId: row.connection_id,
    type: row.job_type,
    status: row.status,
    priority: row.priority,
    attempts: row.attempts,
    scheduledAt: row.scheduled_at,
    retryAfter: row.retry_after ?? undefined,
    startedAt: row.started_at ?? undefined,
    finishedAt: row.finished_at ?? undefined,
    cursor: row.cursor ?? undefined,
    error: (row.error as Job['error']) ?? undefined,
    blocked: row.blocked,
    createdAt: row.created_at,
  };
}
