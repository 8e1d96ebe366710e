import { notFound, requireOneOf, requireUuid } from './checks.ts';
import type { JobType } from './connector.ts';
import type { Doer, Recorder } from './doer.ts';
import { SynclineError } from './errors.ts';
import { firstIdAt } from './ids.ts';
import { detailOf, type JobDetail } from './job-detail.ts';
import {
  cursorTo,
  filteredPage,
  filteredPageById,
  instantPart,
  keyOf,
  mapPage,
  type Page,
  type PageRequest,
  pageLimit,
  uuidPart,
} from './page.ts';
import type { Ports } from './ports.ts';
import { findAttempts } from './store/attempts.ts';
import { lockConnection } from './store/connections.ts';
import type { Database, Queryable } from './store/database.ts';
import { type HistoryKey, lastJobListed, listHistory, listJobs } from './store/job-lists.ts';
import { bringForward, cancelJob, findJob, type JobRow, type JobStatus, pendingJobs } from './store/jobs.ts';
import { insertFollowUps } from './store/settlements.ts';
import { recheckRuns, wakeExecutors } from './store/wake.ts';

/** One run of a connector, waiting, under way or ended. */
export interface Job {
  id: string;
  tenantId: string;
  provider: string;
  connectionId: string;
  /** What the provider calls its connection. */
  connectionName: string | undefined;
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
  /** The cursor that it stored. */
  nextCursor: unknown;
  /** New signals that it stored. */
  signals: number;
  /** What went wrong last. */
  error: JobFailure | undefined;
  /** Queued, but its connection is not active or runs another job. */
  blocked: boolean;
  createdAt: Date;
}

export interface JobFailure {
  kind: string;
  name: string;
  message: string;
  at: string;
  /** There was no budget for it: it waits, and nothing has failed. */
  parked?: boolean;
}

export interface ListedJobs extends PageRequest {
  connectionId?: string | undefined;
  tenantId?: string | undefined;
  status?: JobStatus | undefined;
  provider?: string | undefined;
  type?: JobType | undefined;
  /** Made (by their ids) at or after, and before. */
  since?: Date | undefined;
  until?: Date | undefined;
}

const jobStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export const jobTypes = ['incremental', 'full', 'webhook'] as const;

export function createJobs({ db, ports, record }: { db: Database; ports: Ports; record: Recorder }) {
  return {
    /** The newest first: by when they were made, of one connection by when they last changed. */
    async list(request: ListedJobs = {}): Promise<Page<Job>> {
      const { cursor, limit: wanted, connectionId, tenantId, status, provider, type, since, until } = request;
      const limit = pageLimit(wanted);
      if (status !== undefined) requireOneOf('status', status, jobStatuses);
      if (type !== undefined) requireOneOf('type', type, jobTypes);
      if (tenantId !== undefined) requireUuid('tenantId', tenantId);
      if (connectionId !== undefined) requireUuid('connection', connectionId);
      const times = { from: firstIdAt('since', since), until: firstIdAt('until', until) };
      const filter = { tenantId, status, provider, type, ...times };
      const page = await db.transaction<Page<JobRow>>((tx) =>
        connectionId === undefined ? byId(tx) : byConnection(tx, connectionId),
      );
      return mapPage(page, toJob);

      function byId(tx: Queryable): Promise<Page<JobRow>> {
        return filteredPageById(
          'jobs',
          { cursor, limit },
          (before, bounds) => listJobs(tx, filter, { before, ...bounds }),
          (before, scan) => lastJobListed(tx, filter, { before, scan }),
        );
      }

      async function byConnection(tx: Queryable, id: string): Promise<Page<JobRow & HistoryKey>> {
        const rows = await listHistory(tx, id, filter, { before: historyKey(cursor), limit: limit + 1 });
        // What a connection ran is bounded by how long jobs are kept, so it is read to the end.
        return filteredPage('history', limit, rows, keyInHistory, async () => undefined);
      }
    },

    /** A job with all its runs, as far as they are kept. */
    async get(id: string): Promise<JobDetail> {
      const row = await existing(id);
      return detailOf(toJob(row), row.claim_id, await findAttempts(db, id), ports.now());
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
        await record(tx, now, { ...of(job), kind: 'job.cancelled' }, doer);
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
        await record(tx, now, { ...of(job), kind: 'job.retried' }, doer);
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
    if (!row) throw notFound(`job ${id}`);
    return row;
  }

  /** Connection before job, as everybody locks them. */
  async function change(
    id: string,
    work: (tx: Queryable, job: JobRow, now: Date) => Promise<string>,
  ): Promise<Job> {
    const { connection_id } = await existing(id);
    const changed = await db.transaction(async (tx) => {
      await lockConnection(tx, connection_id);
      const job = await findJob(tx, id, 'FOR UPDATE');
      if (!job) throw notFound(`job ${id}`);
      const result = await work(tx, job, new Date(ports.now()));
      await wakeExecutors(tx);
      return result;
    });
    return toJob(await existing(changed));
  }
}

/** Where a page of a connection's history goes on. */
export function historyKey(cursor: string | undefined): HistoryKey | undefined {
  const [ended, id] = keyOf('history', cursor, [instantPart, uuidPart]) ?? [];
  return ended === undefined || id === undefined ? undefined : { ended, id };
}

const keyInHistory = (row: HistoryKey) => [row.ended, row.id];
export const historyCursor = (row: HistoryKey) => cursorTo('history', [row.ended, row.id]);

const of = (job: JobRow) => ({ tenantId: job.tenant_id, connectionId: job.connection_id, jobId: job.id });

function toJob(row: JobRow): Job {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    connectionId: row.connection_id,
    connectionName: row.connection_name ?? undefined,
    type: row.job_type,
    status: row.status,
    priority: row.priority,
    attempts: row.attempts,
    scheduledAt: row.scheduled_at,
    retryAfter: row.retry_after ?? undefined,
    startedAt: row.started_at ?? undefined,
    finishedAt: row.finished_at ?? undefined,
    cursor: row.cursor ?? undefined,
    nextCursor: row.next_cursor ?? undefined,
    signals: row.signal_count,
    error: (row.error as Job['error']) ?? undefined,
    blocked: row.blocked,
    createdAt: row.created_at,
  };
}
