import type { AuditNote, Recorder } from '../../caller/audit.ts';
import type { Caller } from '../../caller/caller.ts';
import { requireNotDeleting } from '../../caller/connection-access.ts';
import {
  filteredPage,
  filteredPageById,
  instantPart,
  keyOf,
  mapPage,
  type Page,
  type PageRequest,
  pageLimit,
  uuidPart,
} from '../../caller/keyset.ts';
import { firstIdAt } from '../../caller/time-ids.ts';
import { SynclineError } from '../../contract/errors.ts';
import { type JobStatus, type JobType, jobStatuses, jobTypes } from '../../contract/states.ts';
import { maxPriorityOf } from '../../pipeline/trigger.ts';
import type { Ports } from '../../platform/ports.ts';
import { findAttempts } from '../../store/attempts.ts';
import { lockConnection } from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { type HistoryKey, listHistory } from '../../store/job-history.ts';
import { jobWalk } from '../../store/job-lists.ts';
import {
  bringForward,
  cancelJob,
  findJob,
  type JobRow,
  type JobWithCursors,
  pendingJobs,
} from '../../store/jobs.ts';
import type { Listed } from '../../store/page-bytes.ts';
import { queueJobs } from '../../store/settlements.ts';
import { recheckRuns, wakeIfRunnable } from '../../store/wake.ts';
import { notFound, requireOneOf, requireUuid } from '../../values/arguments.ts';
import type { ReadJson } from '../../values/stored-json.ts';
import { detailOf } from './detail.ts';
import { type Job, type JobDetail, jobFromRow } from './model.ts';

/** Filter and page of `jobs.list`. */
export interface ListedJobs extends PageRequest {
  connectionId?: string | undefined;
  tenantId?: string | undefined;
  status?: JobStatus | undefined;
  provider?: string | undefined;
  type?: JobType | undefined;
  /** Created at or after `since`, and before `until`. */
  since?: Date | undefined;
  until?: Date | undefined;
}

/** Queued, running and ended jobs. */
export interface JobsApi {
  /** Newest first: by creation; for one connection, by last change. */
  list(request?: ListedJobs): Promise<Page<Job>>;

  /** A job with its runs and their logs. */
  get(id: string): Promise<JobDetail>;

  /**
   * Cancels a queued or running job; a running one is aborted and stores nothing. The connection's next run
   * is one interval from now.
   */
  cancel(id: string, note?: AuditNote): Promise<Job>;

  /** Runs a queued job now; an ended one as a new job from the connection's cursor. */
  retry(id: string, note?: AuditNote): Promise<Job>;
}

export function createJobs({
  db,
  ports,
  caller,
  record,
  json,
}: {
  db: Database;
  ports: Ports;
  caller: Caller;
  record: Recorder;
  json: ReadJson;
}): JobsApi {
  const toJob = (row: JobWithCursors) => jobFromRow(row, { json, caller });
  return {
    async list(request = {}) {
      const {
        cursor,
        limit: requestedLimit,
        connectionId,
        tenantId,
        status,
        provider,
        type,
        since,
        until,
      } = request;
      const limit = pageLimit(requestedLimit);
      if (status !== undefined) requireOneOf('status', status, jobStatuses);
      if (type !== undefined) requireOneOf('type', type, jobTypes);
      if (tenantId !== undefined) requireUuid('tenantId', tenantId);
      if (connectionId !== undefined) requireUuid('connection', connectionId);
      const times = { from: firstIdAt('since', since), until: firstIdAt('until', until) };
      const filter = { tenantId, status, provider, type, ...times };
      const page: Page<JobWithCursors> = await (connectionId === undefined
        ? byId()
        : byConnection(connectionId));
      return mapPage(page, toJob);

      async function byId(): Promise<Page<JobWithCursors>> {
        const { list, last, skipsRows } = await jobWalk(db, filter, tenantId ?? caller.tenantId);
        const bounds = { cursor, limit, filter: { ...filter, skipsRows: skipsRows || undefined } };
        return filteredPageById('jobs', bounds, list, last);
      }

      async function byConnection(id: string): Promise<Page<JobWithCursors & HistoryKey & Listed>> {
        const rows = await listHistory(db, id, filter, { before: historyKey(cursor), limit: limit + 1 });
        // Retention bounds the history: no scan limit.
        return filteredPage('history', rows, keyInHistory, async () => undefined);
      }
    },

    async get(id) {
      const row = await existing(id);
      return detailOf(toJob(row), row.claim_id, await findAttempts(db, id), { caller, nowMs: ports.now() });
    },

    async cancel(id, note = {}) {
      return change(id, async (tx, job, now) => {
        if (job.status !== 'queued' && job.status !== 'running')
          throw new SynclineError('CONFLICT', `Job ${id} has already ended (${job.status}).`);
        await cancelJob(tx, now, id);
        if (job.status === 'running') await recheckRuns(tx);
        await record(tx, now, { ...subjectOf(job), kind: 'job.cancelled' }, note);
        return id;
      });
    },

    async retry(id, note = {}) {
      return change(id, async (tx, job, now) => {
        if (job.status === 'running')
          throw new SynclineError('CONFLICT', `Job ${id} is running.`, {
            hint: 'Cancel it first, or trigger its connection to queue another run.',
          });
        await record(tx, now, { ...subjectOf(job), kind: 'job.retried' }, note);
        if (job.status === 'queued') {
          await bringForward(tx, now, id, job.priority);
          return id;
        }
        const sameType = (row: JobRow) => row.job_type === job.job_type;
        const pending = (await pendingJobs(tx, job.connection_id, 'FOR UPDATE')).find(sameType);
        if (pending?.status === 'running')
          throw new SynclineError('CONFLICT', `A ${job.job_type} job of this connection is running.`, {
            hint: 'Trigger the connection to queue another run.',
          });
        await queueJobs(tx, now, [
          {
            id: ports.newId(),
            tenantId: job.tenant_id,
            providerSlug: job.provider_slug,
            connectionId: job.connection_id,
            type: job.job_type,
            // A tenant must not reuse a priority that an operator set.
            priority: Math.min(job.priority, maxPriorityOf(caller)),
            cursor: null,
            retryAfter: null,
          },
        ]);
        const queued = (await pendingJobs(tx, job.connection_id)).find(sameType);
        return queued?.id ?? id;
      });
    },
  };

  async function existing(id: string, from: Queryable = db): Promise<JobWithCursors> {
    requireUuid('job', id);
    const row = await findJob(from, id);
    if (!row) throw notFound(`job ${id}`);
    return row;
  }

  /** Lock order: connection, then job. */
  async function change(
    id: string,
    work: (tx: Queryable, job: JobRow, now: Date) => Promise<string>,
  ): Promise<Job> {
    const { connection_id } = await existing(id);
    return db.transaction(async (tx) => {
      const connection = await lockConnection(tx, connection_id);
      const found = await findJob(tx, id, 'FOR UPDATE');
      if (!found || !connection) throw notFound(`job ${id}`);
      requireNotDeleting(connection);
      // EXE-13: from the connection, not the job row.
      const { tenant_id, provider_slug } = connection;
      const job = { ...found, tenant_id, provider_slug };
      const changed = await work(tx, job, tx.now);
      await wakeIfRunnable(tx, tx.now, connection_id);
      // Before COMMIT: shows this change, not a later one.
      return toJob(await existing(changed, tx));
    });
  }
}

export function historyKey(cursor: string | undefined): HistoryKey | undefined {
  const [ended, id] = keyOf('history', cursor, [instantPart, uuidPart]) ?? [];
  return ended === undefined || id === undefined ? undefined : { ended, id };
}

export const keyInHistory = (row: HistoryKey) => [row.ended, row.id];

const subjectOf = (job: JobRow) => ({
  tenantId: job.tenant_id,
  connectionId: job.connection_id,
  jobId: job.id,
});
