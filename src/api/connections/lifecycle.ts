import { type AuditNote, type Recorder, requireAuditNote } from '../../caller/audit.ts';
import type { Caller } from '../../caller/caller.ts';
import { changeConnection, existingConnection } from '../../caller/connection-access.ts';
import type { Config } from '../../config/settings.ts';
import type { JobType } from '../../contract/connector.ts';
import { SynclineError } from '../../contract/errors.ts';
import { patiently } from '../../credentials/index.ts';
import { requirePriority, syncNow, type TriggerResult, triggerPriority } from '../../pipeline/trigger.ts';
import type { Ports } from '../../platform/ports.ts';
import { type Deletion, deleteBatch, deletionBatch, deletionOf } from '../../runtime/index.ts';
import { formatInstant } from '../../schedule/instant.ts';
import { readSyncMetadata, syncOf } from '../../schedule/sync-metadata.ts';
import {
  activateConnections,
  type LockedConnection,
  setConnectionStatus,
  writeCursor,
} from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { estimateSignals, insertDeletion, markDeleting } from '../../store/deletions.ts';
import { type EventKind, latestEvents } from '../../store/events.ts';
import { cancelJob, endedJobs, findStoredCursor, pendingJobs, sendBack } from '../../store/jobs.ts';
import { findProcesses } from '../../store/processes.ts';
import { recheckRuns } from '../../store/wake.ts';
import { invalid, requireOneOf, requireSmall, requireUuid, requireWhole } from '../../values/arguments.ts';
import { jobTypes } from '../jobs/index.ts';
import { type Explanation, explain, explainDeletion } from './explain.ts';
import { recordedCursor } from './recorded-cursor.ts';

export type { TriggerResult } from '../../pipeline/trigger.ts';

/** What people do to a connection, apart from its schedule. */
export function createControl({
  db,
  config,
  ports,
  who,
  record,
  continueDeletions,
  lockTimeoutMs,
}: {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  who: Caller;
  record: Recorder;
  /** Has this process continue open deletions in the background. */
  continueDeletions: () => void;
  /** How long a change waits for a connection that somebody holds; as long as all others unless given. */
  lockTimeoutMs?: number;
}) {
  return {
    /**
     * Has the connection synced now. One that waits is brought forward; while one is running, exactly one more follows
     * it, however often this is called.
     */
    async trigger(
      id: string,
      options: { type?: JobType; priority?: number } & AuditNote = {},
    ): Promise<TriggerResult> {
      const { type = 'incremental', priority = triggerPriority, ...doer } = options;
      requireOneOf('type', type, jobTypes);
      requirePriority(who, priority);
      return change(id, async (tx, row, now) => {
        if (row.status !== 'active')
          throw new SynclineError('CONFLICT', `Connection ${id} is ${row.status}, so nothing of it runs.`, {
            hint: 'Resume it first.',
          });
        const done = await syncNow(tx, row, now, { type, priority, newId: () => ports.newId() });
        await record(tx, now, { ...of(row), jobId: done.jobId, kind: 'connection.triggered' }, doer);
        return done;
      });
    },

    /** Runs nothing more of it until it is resumed. A run that has begun may finish; cancel its job to end it. */
    async pause(id: string, doer: AuditNote = {}): Promise<void> {
      await change(id, async (tx, row, now) => {
        if (row.status === 'paused') return;
        await setConnectionStatus(tx, now, [id], row.status, 'paused');
        await record(tx, now, { ...of(row), kind: 'connection.paused' }, doer);
      });
    },

    /**
     * Makes it active again, from whatever status; what waited for it runs now. One that waited for a credential is synced
     * now: its schedule went on meanwhile, and may be an interval away.
     */
    async resume(id: string, doer: AuditNote = {}): Promise<void> {
      await change(id, async (tx, row, now) => {
        if (row.status === 'active') return;
        await activateConnections(tx, now, [id], formatInstant(now.getTime()));
        await record(tx, now, { ...of(row), kind: 'connection.resumed' }, doer);
        if (row.status === 'needs_auth')
          await syncNow(tx, row, now, {
            type: 'incremental',
            priority: triggerPriority,
            newId: () => ports.newId(),
          });
      });
    },

    /** Ends whatever of it is queued or running, and returns the ids of those jobs. It stays active: its next run comes. */
    async cancel(id: string, doer: AuditNote = {}): Promise<string[]> {
      return change(id, async (tx, row, now) => {
        const jobs = await pendingJobs(tx, id, 'FOR UPDATE');
        for (const job of jobs) {
          await cancelJob(tx, now, job.id);
          await record(tx, now, { ...of(row), jobId: job.id, kind: 'job.cancelled' }, doer);
        }
        if (jobs.length > 0) await recheckRuns(tx);
        return jobs.map((job) => job.id);
      });
    },

    /**
     * Goes back (or ahead) to a cursor: the one that a job stored, or any; null is the beginning. A run under way is sent
     * back, nothing that it finds is stored, and it starts again from there. Signals that come again are absorbed where
     * they have a dedupe key.
     */
    async rewind(
      id: string,
      to: { jobId: string } | { cursor: unknown },
      doer: AuditNote = {},
    ): Promise<void> {
      await change(id, async (tx, row, now) => {
        const cursor = 'jobId' in to ? await cursorOfJob(tx, id, to.jobId) : storableCursor(to.cursor);
        const jobs = await pendingJobs(tx, id, 'FOR UPDATE');
        const foreign = jobs.find((job) => job.status === 'running' && job.process_id === null);
        if (foreign)
          throw new SynclineError('CONFLICT', `Job ${foreign.id} is run by a worker that is none of ours.`, {
            hint: 'Wait until it has ended, or cancel it.',
          });
        await sendBack(
          tx,
          now,
          jobs.map((job) => job.id),
        );
        await writeCursor(tx, now, id, cursor);
        const detail = { from: recordedCursor(syncOf(row.metadata)['cursor']), to: recordedCursor(cursor) };
        await record(tx, now, { ...of(row), kind: 'connection.rewound', detail }, doer);
        await recheckRuns(tx);
      });
    },

    /**
     * Deletes it with its jobs and signals, and the credential that only it used. What was done to it stays on record. With no more
     * signals than one batch it is gone when this returns. A larger one is disabled and refuses changes from now on; this process and
     * every janitor delete it in batches, and `deletion` shows the progress. Calling it again continues an open deletion.
     */
    async remove(id: string, doer: AuditNote = {}): Promise<Deletion> {
      requireAuditNote({ actor: who.actor, ...doer });
      const mark = async (tx: Queryable, row: LockedConnection, now: Date) => {
        if (row.deleting_since) return;
        const jobs = await pendingJobs(tx, id, 'FOR UPDATE');
        for (const job of jobs) await cancelJob(tx, now, job.id);
        if (jobs.length > 0) await recheckRuns(tx);
        await markDeleting(tx, now, id);
        const estimated = await estimateSignals(tx, id);
        const { tenant_id, provider_slug, external_id } = row;
        const { actor = who.actor, reason = null } = doer;
        const requester = { actor, reason, key_id: who.keyId ?? null };
        const deleted = { connection_id: id, tenant_id, provider_slug, external_id };
        await insertDeletion(tx, now, { ...deleted, ...requester, estimated_signals: estimated });
        if (estimated <= deletionBatch) return;
        const detail = { provider: provider_slug, externalId: external_id, estimatedSignals: estimated };
        await record(tx, now, { ...of(row), kind: 'connection.deletion_started', detail }, doer);
      };
      await change(id, mark, {
        alsoDeleting: true,
        ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
      });
      if ((await deletionOf(db, id, who)).estimatedSignals <= deletionBatch) await deleteNow(id);
      const deletion = await deletionOf(db, id, who);
      if (deletion.state === 'deleting') continueDeletions();
      return deletion;
    },

    /** How far its deletion has come; also for a week after it is gone. */
    deletion: (id: string): Promise<Deletion> => deletionOf(db, id, who),

    /** One honest sentence on why it is or is not syncing right now, and when it next will. */
    async explain(id: string): Promise<Explanation> {
      const row = await existingConnection(db, id);
      if (row.deleting_since) return explainDeletion(await deletionOf(db, id, who));
      const sync = readSyncMetadata(syncOf(row.metadata), config);
      const [lastEnded] = await endedJobs(db, id, 1);
      return explain({
        nowMs: ports.now(),
        status: row.status,
        provider: row.provider_slug,
        hasCredential: row.credential_id !== null,
        nextRunAt: sync.nextRunAtMs === undefined ? undefined : new Date(sync.nextRunAtMs),
        lastEndedAt: row.last_incremental_ended_at ?? undefined,
        tickIntervalSeconds: config.tickIntervalSeconds,
        jobs: await pendingJobs(db, id),
        lastEnded,
        events: await latestEvents(db, id, 20),
        processes: await findProcesses(db, await db.now()),
      });
    },

    /** What was done to it, by whom and why, newest first. */
    async events(id: string, { limit = 20 }: { limit?: number } = {}): Promise<ConnectionEvent[]> {
      requireUuid('connection', id);
      requireWhole('limit', limit, 1, 1000);
      const rows = await latestEvents(db, id, limit);
      return rows.map(({ kind, actor, key_id, reason, job_id, created_at }) => ({
        kind,
        actor,
        keyId: key_id ?? undefined,
        reason: reason ?? undefined,
        jobId: job_id ?? undefined,
        at: created_at,
      }));
    },
  };

  /** Signals, jobs and the connection take a batch each; one more for signals that a run stored before it was cancelled. */
  async function deleteNow(id: string): Promise<void> {
    for (let batches = 0; batches < 4; batches++) {
      const step = await patiently(ports, () => deleteBatch({ db, ports }, { connectionId: id }));
      if (step !== 'more') return;
    }
  }

  async function cursorOfJob(tx: Queryable, id: string, jobId: string): Promise<unknown> {
    requireUuid('jobId', jobId);
    const stored = await findStoredCursor(tx, id, jobId);
    if (!stored)
      throw new SynclineError('NOT_FOUND', `Job ${jobId} stored no cursor for connection ${id}.`, {
        hint: 'Choose one of the cursors in its history.',
      });
    return stored.cursor;
  }

  function change<T>(
    id: string,
    work: (tx: Queryable, row: LockedConnection, now: Date) => Promise<T>,
    options: { lockTimeoutMs?: number; alsoDeleting?: boolean } = lockTimeoutMs === undefined
      ? {}
      : { lockTimeoutMs },
  ): Promise<T> {
    return changeConnection({ db }, id, work, { wakesExecutors: true, ...options });
  }
}

/** Something that was done to a connection. */
export interface ConnectionEvent {
  kind: EventKind;
  actor: string;
  /** The API key that was used. */
  keyId: string | undefined;
  reason: string | undefined;
  jobId: string | undefined;
  at: Date;
}

/** As much as a connector may return. */
const maxCursorBytes = 256 * 1024;

/** What Postgres could not hold is refused here, where it can be said why. */
function storableCursor(cursor: unknown): unknown {
  if (cursor === undefined || cursor === null) return null;
  const isStorable = (text: string) => !text.includes('\0') && Buffer.from(text).toString() === text;
  let isGood = true;
  try {
    const json = JSON.stringify(cursor, (key, value: unknown) => {
      isGood &&= isStorable(key) && (typeof value !== 'string' || isStorable(value));
      return value;
    });
    isGood &&= json !== undefined;
  } catch {
    isGood = false;
  }
  if (!isGood)
    throw invalid('cursor cannot be stored; it must be JSON without NUL and halves of surrogate pairs.');
  requireSmall('cursor', cursor, maxCursorBytes);
  return cursor;
}

const of = (row: LockedConnection) => ({ tenantId: row.tenant_id, connectionId: row.id });
