import { type Recorder, requireAuditNote } from '../../caller/audit.ts';
import type { Caller } from '../../caller/caller.ts';
import { changeConnection, existingConnection } from '../../caller/connection-access.ts';
import type { Config } from '../../config/settings.ts';
import type { Connector } from '../../contract/connector.ts';
import { invalidArgument, SynclineError } from '../../contract/errors.ts';
import { jobTypes } from '../../contract/states.ts';
import { requirePriority, syncNow, triggerPriority } from '../../pipeline/trigger.ts';
import type { Ports } from '../../platform/ports.ts';
import { deleteBatch, deletionBatch, deletionOf } from '../../runtime/index.ts';
import { readSyncTexts } from '../../schedule/sync-metadata.ts';
import { readTimetable } from '../../schedule/timetable.ts';
import {
  activateConnections,
  type LockedConnection,
  setConnectionStatus,
  writeCursor,
} from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { isLockTimeout } from '../../store/database-errors.ts';
import { estimateSignals, insertDeletion, markDeleting } from '../../store/deletions.ts';
import { latestEvents } from '../../store/events.ts';
import { cancelJob, endedJobs, findStoredCursor, pendingJobs, requeueFromStart } from '../../store/jobs.ts';
import { findProcesses } from '../../store/processes.ts';
import { recheckRuns, wakeIfRunnable } from '../../store/wake.ts';
import { requireOneOf, requireSmall, requireUuid, requireWhole } from '../../values/arguments.ts';
import { formatInstant } from '../../values/instant.ts';
import { maxResult } from '../../values/limits.ts';
import { parseStored, type ReadJson } from '../../values/stored-json.ts';
import { connectionEventFromRow } from '../model.ts';
import type { ConnectionControl } from './api.ts';
import { waitsForConsent } from './consent.ts';
import { explain, explainDeletion } from './explain.ts';
import { type Connection, connectionFromRow } from './model.ts';
import { recordedCursor } from './recorded-cursor.ts';

export function createControl({
  db,
  config,
  ports,
  connectors,
  caller,
  record,
  json,
  continueDeletions,
  lockTimeoutMs,
  isBulk = false,
}: {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  connectors: ReadonlyMap<string, Connector>;
  caller: Caller;
  record: Recorder;
  json: ReadJson;
  continueDeletions: () => void;
  lockTimeoutMs?: number;
  isBulk?: boolean;
}): ConnectionControl {
  return {
    async trigger(id, options = {}) {
      const { type = 'incremental', priority = triggerPriority, ...note } = options;
      requireOneOf('type', type, jobTypes);
      requirePriority(caller, priority);
      return change(id, async (tx, row, now) => {
        if (row.status !== 'active')
          throw new SynclineError('CONFLICT', `Connection ${id} is ${row.status} and cannot run.`, {
            hint: 'Resume it first.',
          });
        const done = await syncNow(tx, row, now, { type, priority, newId: () => ports.newId() });
        await record(tx, now, { ...subjectOf(row), jobId: done.jobId, kind: 'connection.triggered' }, note);
        await wakeIfRunnable(tx, now, id);
        return done;
      });
    },

    async pause(id, note = {}) {
      return change(id, async (tx, row, now) => {
        if (row.status !== 'paused') {
          await setConnectionStatus(tx, now, [id], row.status, 'paused');
          await record(tx, now, { ...subjectOf(row), kind: 'connection.paused' }, note);
        }
        return changed(tx, id);
      });
    },

    async resume(id, note = {}) {
      return change(id, async (tx, row, now) => {
        if (row.status === 'active') return changed(tx, id);
        if (waitsForConsent(row, connectors.get(row.provider_slug))) {
          if (row.status !== 'needs_auth') {
            await setConnectionStatus(tx, now, [id], row.status, 'needs_auth');
            await record(tx, now, { ...subjectOf(row), kind: 'connection.resumed' }, note);
            return changed(tx, id);
          }
          // Only a request for this connection runs it without a credential.
          if (isBulk) throw noConsent(id);
        }
        await activateConnections(tx, now, [id], formatInstant(now.getTime()));
        await record(tx, now, { ...subjectOf(row), kind: 'connection.resumed' }, note);
        if (row.status === 'needs_auth')
          await syncNow(tx, row, now, {
            type: 'incremental',
            priority: triggerPriority,
            newId: () => ports.newId(),
          });
        await wakeIfRunnable(tx, now, id);
        return changed(tx, id);
      });
    },

    async cancel(id, note = {}) {
      return change(id, async (tx, row, now) => {
        const jobs = await pendingJobs(tx, id, 'FOR UPDATE');
        for (const job of jobs) {
          await cancelJob(tx, now, job.id);
          await record(tx, now, { ...subjectOf(row), jobId: job.id, kind: 'job.cancelled' }, note);
        }
        if (jobs.some(isRunning)) await recheckRuns(tx);
        return jobs.map((job) => job.id);
      });
    },

    async rewind(id, to, note = {}) {
      return change(id, async (tx, row, now) => {
        const cursor = 'jobId' in to ? await cursorOfJob(tx, id, to.jobId) : storableCursor(to.cursor);
        const jobs = await pendingJobs(tx, id, 'FOR UPDATE');
        const foreign = jobs.find((job) => isRunning(job) && job.process_id === null);
        if (foreign)
          throw new SynclineError(
            'CONFLICT',
            `Job ${foreign.id} is running on a worker that Syncline does not manage.`,
            {
              hint: 'Wait until it has ended, or cancel it.',
            },
          );
        await requeueFromStart(
          tx,
          now,
          jobs.map((job) => job.id),
        );
        await writeCursor(tx, now, id, cursor);
        const from = row.cursor === null ? null : parseStored(row.cursor);
        const detail = { from: recordedCursor(from), to: recordedCursor(cursor) };
        await record(tx, now, { ...subjectOf(row), kind: 'connection.rewound', detail }, note);
        if (jobs.some(isRunning)) await recheckRuns(tx);
        await wakeIfRunnable(tx, now, id);
        return changed(tx, id);
      });
    },

    async delete(id, note = {}) {
      requireAuditNote({ actor: caller.actor, ...note });
      const mark = async (tx: Queryable, row: LockedConnection, now: Date) => {
        if (row.deleting_since) return;
        const jobs = await pendingJobs(tx, id, 'FOR UPDATE');
        for (const job of jobs) await cancelJob(tx, now, job.id);
        if (jobs.some(isRunning)) await recheckRuns(tx);
        await markDeleting(tx, now, id);
        const estimated = await estimateSignals(tx, id);
        const { tenant_id, provider_slug, external_id } = row;
        const { actor = caller.actor, reason = null } = note;
        const requester = { actor, reason, key_id: caller.keyId ?? null };
        const deleted = { connection_id: id, tenant_id, provider_slug, external_id };
        await insertDeletion(tx, now, { ...deleted, ...requester, estimated_signals: estimated });
        if (estimated <= deletionBatch) return;
        const detail = { provider: provider_slug, externalId: external_id, estimatedSignals: estimated };
        await record(tx, now, { ...subjectOf(row), kind: 'connection.deletion_started', detail }, note);
      };
      await change(id, mark, {
        alsoDeleting: true,
        ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
      });
      let isDeleted = false;
      try {
        if ((await deletionOf(db, id, caller)).estimatedSignals <= deletionBatch) await deleteNow(id);
        const deletion = await deletionOf(db, id, caller);
        isDeleted = deletion.state === 'deleted';
        return deletion;
      } finally {
        // Also after an error: the mark has committed.
        if (!isDeleted) continueDeletions();
      }
    },

    deletion: (id) => deletionOf(db, id, caller),

    async explain(id) {
      const row = await existingConnection(db, id);
      if (row.deleting_since) return explainDeletion(await deletionOf(db, id, caller));
      const sync = readSyncTexts(row, config);
      const [lastEnded] = await endedJobs(db, id, 1);
      return explain({
        nowMs: ports.now(),
        status: row.status,
        provider: row.provider_slug,
        hasCredential: row.credential_id !== null,
        nextRunAt: sync.nextRunAtMs === undefined ? undefined : new Date(sync.nextRunAtMs),
        lastEndedAt: row.last_incremental_ended_at ?? undefined,
        tickIntervalSeconds: config.tickIntervalSeconds,
        schedule: readTimetable(row.schedule).timetable?.schedule,
        jobs: await pendingJobs(db, id),
        lastEnded,
        events: await latestEvents(db, id, 20),
        processes: await findProcesses(db, await db.now()),
      });
    },

    async events(id, { limit = 20 } = {}) {
      requireUuid('connection', id);
      requireWhole('limit', limit, 1, 1000);
      return (await latestEvents(db, id, limit)).map(connectionEventFromRow);
    },
  };

  /**
   * One batch each for signals, jobs, connection, and signals stored before the cancellation. Stops at a
   * lock, such as of a token refresh: the process continues later.
   */
  async function deleteNow(id: string): Promise<void> {
    try {
      for (let batches = 0; batches < 4; batches++)
        if ((await deleteBatch({ db, ports }, { connectionId: id })) !== 'more') return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }

  async function cursorOfJob(tx: Queryable, id: string, jobId: string): Promise<unknown> {
    requireUuid('jobId', jobId);
    const stored = await findStoredCursor(tx, id, jobId);
    if (!stored)
      throw new SynclineError('NOT_FOUND', `Job ${jobId} stored no cursor for connection ${id}.`, {
        hint: 'Choose a cursor from its history.',
      });
    return stored.cursor;
  }

  /** Before COMMIT: shows this change, not a later one. */
  async function changed(tx: Queryable, id: string): Promise<Connection> {
    return connectionFromRow(await existingConnection(tx, id), { config, json });
  }

  function change<T>(
    id: string,
    work: (tx: Queryable, row: LockedConnection, now: Date) => Promise<T>,
    options: { lockTimeoutMs?: number; alsoDeleting?: boolean } = lockTimeoutMs === undefined
      ? {}
      : { lockTimeoutMs },
  ): Promise<T> {
    return changeConnection({ db }, id, work, options);
  }
}

function storableCursor(cursor: unknown): unknown {
  if (cursor === undefined || cursor === null) return null;
  const isStorable = (text: string) => !text.includes('\0') && Buffer.from(text).toString() === text;
  let isValid = true;
  try {
    const json = JSON.stringify(cursor, (key, value: unknown) => {
      isValid &&= isStorable(key) && (typeof value !== 'string' || isStorable(value));
      return value;
    });
    isValid &&= json !== undefined;
  } catch {
    isValid = false;
  }
  if (!isValid)
    throw invalidArgument({
      field: 'cursor',
      expected: 'JSON without NUL and halves of surrogate pairs',
    });
  requireSmall('cursor', cursor, maxResult.cursorBytes);
  return cursor;
}

const noConsent = (id: string) =>
  new SynclineError('CONFLICT', `Connection ${id} waits for its first consent or credential.`, {
    hint: 'Send its owner an authorization link, or attach a credential.',
  });

const isRunning = ({ status }: { status: string }) => status === 'running';

const subjectOf = (row: LockedConnection) => ({ tenantId: row.tenant_id, connectionId: row.id });
