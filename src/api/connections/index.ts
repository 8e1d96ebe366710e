import type { AuditNote, Recorder } from '../../caller/audit.ts';
import type { Caller } from '../../caller/caller.ts';
import { changeConnection, existingConnection } from '../../caller/connection-access.ts';
import { mapPage, pageLimit, pageOf } from '../../caller/keyset.ts';
import type { Config } from '../../config/settings.ts';
import type { Connector } from '../../contract/connector.ts';
import { invalidArgument } from '../../contract/errors.ts';
import { changeCredential, requireCredential } from '../../credentials/index.ts';
import type { Ports } from '../../platform/ports.ts';
import { isAllowedInterval } from '../../schedule/interval.ts';
import { jitterRange, sampleJitter } from '../../schedule/jitter.ts';
import { previewRuns } from '../../schedule/preview.ts';
import { type PendingState, reschedule } from '../../schedule/reschedule.ts';
import { allowedInterval, syncOf } from '../../schedule/sync-metadata.ts';
import { insertConnection, writeSync } from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { listCursors } from '../../store/job-lists.ts';
import { findPendingJob, lockWaitingJob, moveJob } from '../../store/jobs.ts';
import { upsertProvider } from '../../store/providers.ts';
import { requireSmall, requireText, requireUuid, requireWhole, show } from '../../values/arguments.ts';
import { requireConfig } from '../../values/connection-config.ts';
import { formatInstant } from '../../values/instant.ts';
import { maxConfigBytes } from '../../values/limits.ts';
import type { ReadJson } from '../../values/stored-json.ts';
import { historyKey, keyInHistory } from '../jobs/index.ts';
import type { ConnectionsApi } from './api.ts';
import { createBulk } from './bulk.ts';
import { changeConfig } from './config.ts';
import { createControl } from './lifecycle.ts';
import { listPage, recentOf, requireFilter } from './list.ts';
import { type Connection, connectionFromRow, readSync } from './model.ts';
import { pastCursorFromRow } from './results.ts';

/** Beyond this, jitter makes the windows meaningless. */
const maxPreviewedRuns = 100;

/** Lock timeout per connection in a bulk step, where many may be locked. */
const bulkLockTimeoutMs = 1000;

export function createConnections({
  db,
  config,
  ports,
  connectors,
  caller,
  record,
  json,
  continueDeletions,
  stopping,
}: {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  connectors: ReadonlyMap<string, Connector>;
  caller: Caller;
  record: Recorder;
  json: ReadJson;
  continueDeletions: () => void;
  stopping: AbortSignal;
}): Omit<ConnectionsApi, 'repairSchedule'> {
  const shared = { db, config, ports, caller, record, continueDeletions, stopping };
  const control = createControl(shared);
  const bulkControl = createControl({ ...shared, lockTimeoutMs: bulkLockTimeoutMs });
  return {
    ...control,

    async create(input, note = {}) {
      requireUuid('tenantId', input.tenantId);
      requireText('provider', input.provider, 200);
      if (input.externalId !== undefined) requireText('externalId', input.externalId, 500);
      if (input.intervalSeconds !== undefined) requireInterval(input.intervalSeconds, config);
      await requireConfig('config', input.config, connectors.get(input.provider));
      requireSmall('metadata', input.metadata, maxConfigBytes);
      const now = await db.now();
      const id = ports.newId();
      const connector = connectors.get(input.provider);
      // A run without a credential would fail; the first credential activates the connection.
      const waits = input.credentialId === undefined && needsCredential(connector);
      const sync = {
        ...syncOf(input.metadata),
        ...(!waits && { first_activated_at: now.toISOString() }),
        ...(input.intervalSeconds !== undefined && { interval_seconds: input.intervalSeconds }),
      };
      if (connector)
        await upsertProvider(db, now, { slug: input.provider, displayName: connector.name, authType: null });
      return db.transaction(async (tx) => {
        const { tenantId, provider, credentialId } = input;
        if (credentialId !== undefined) await requireCredential(tx, credentialId, { tenantId, provider });
        await insertConnection(tx, now, {
          id,
          tenantId,
          provider,
          externalId: input.externalId ?? null,
          credentialId: credentialId ?? null,
          status: waits ? 'needs_auth' : 'active',
          metadata: { ...input.metadata, sync },
          config: input.config ?? {},
        });
        const subject = { tenantId: input.tenantId, connectionId: id };
        await record(tx, now, { ...subject, kind: 'connection.created' }, note);
        return connectionFromRow(await existingConnection(tx, id), config);
      });
    },

    async get(id) {
      return connectionFromRow(await existingConnection(db, id), config);
    },

    async list(request = {}) {
      const { cursor, limit: requestedLimit, recent = false, ...filter } = request;
      const limit = pageLimit(requestedLimit);
      requireFilter(filter);
      const page = await listPage(db, filter, cursor, limit);
      const runs = recent ? await recentOf(db, page.items) : undefined;
      return mapPage(page, (row) => ({
        ...connectionFromRow(row, config),
        ...(runs && { recent: runs.get(row.id) ?? [] }),
      }));
    },

    async cursors(id, { cursor, limit: requestedLimit } = {}) {
      const limit = pageLimit(requestedLimit);
      const before = historyKey(cursor);
      await existingConnection(db, id);
      const rows = await listCursors(db, id, { before, limit: limit + 1 });
      return mapPage(pageOf('history', rows, keyInHistory), (row) => pastCursorFromRow(row, json));
    },

    ...createBulk({ db, ports, control: bulkControl }),

    async setCredential(id, credentialId, note = {}) {
      return connectionFromRow(await changeCredential({ db, ports, record }, id, credentialId, note), config);
    },

    async setConfig(id, connectionConfig, note = {}) {
      return connectionFromRow(
        await changeConfig({ db, record, connectors }, id, connectionConfig, note),
        config,
      );
    },

    async setInterval(id, intervalSeconds, note = {}) {
      requireInterval(intervalSeconds, config);
      return changeInterval(id, intervalSeconds, note);
    },

    async clearInterval(id, note = {}) {
      return changeInterval(id, null, note);
    },

    async activate(id, note = {}) {
      return control.resume(id, note);
    },

    async preview(id, { runs = 5 } = {}) {
      requireWhole('runs', runs, 1, maxPreviewedRuns);
      const connection = connectionFromRow(await existingConnection(db, id), config);
      const pending = await findPendingJob(db, id);
      if (connection.status !== 'active') return { connection, pending: pending?.status, runs: [] };
      const windows = previewRuns(
        {
          lastEndedMs: connection.lastEndedAt?.getTime(),
          nextRunAtMs: connection.sync.nextRunAt?.getTime(),
          pendingAtMs: pending?.scheduled_at.getTime(),
          baseSeconds: connection.sync.baseIntervalSeconds,
          jitter: config,
          tickIntervalSeconds: config.tickIntervalSeconds,
          nowMs: ports.now(),
        },
        runs,
      );
      return {
        connection,
        pending: pending?.status,
        runs: windows.map(({ earliestMs, latestMs }) => ({
          earliest: new Date(earliestMs),
          latest: new Date(latestMs),
        })),
      };
    },
  };

  async function changeInterval(
    id: string,
    intervalSeconds: number | null,
    note: AuditNote,
  ): Promise<Connection> {
    return changeConnection({ db }, id, async (tx, row, now) => {
      const nowMs = now.getTime();
      const waiting = await lockWaitingJob(tx, id);
      const baseSeconds = intervalSeconds ?? config.defaultIntervalSeconds;
      const jitterSeconds = sampleJitter(jitterRange(baseSeconds, config), ports.random());
      const { nextRunAtMs, job } = reschedule({
        pending: await pendingState(tx, id, waiting?.scheduled_at, nowMs),
        lastEndedMs: row.last_incremental_ended_at?.getTime(),
        baseSeconds,
        jitterSeconds,
        nowMs,
      });
      if (job && waiting) await moveJob(tx, now, waiting.id, new Date(job.scheduledAtMs));
      const keys = {
        ...(intervalSeconds !== null && { interval_seconds: intervalSeconds }),
        ...(nextRunAtMs !== undefined && { next_run_at: formatInstant(nextRunAtMs) }),
        ...(job && { last_jitter_seconds: jitterSeconds }),
      };
      await writeSync(tx, now, id, keys, intervalSeconds === null ? 'interval_seconds' : undefined);
      const detail = { from: readSync(row, config).intervalSeconds ?? null, to: intervalSeconds };
      const subject = { tenantId: row.tenant_id, connectionId: id };
      await record(tx, now, { ...subject, kind: 'connection.interval_changed', detail }, note);
      return connectionFromRow(await existingConnection(tx, id), config);
    });
  }
}

const needsCredential = (connector: Connector | undefined) =>
  connector?.oauth2 !== undefined && !connector.oauth2.optional;

async function pendingState(
  tx: Queryable,
  id: string,
  waitingUntil: Date | undefined,
  nowMs: number,
): Promise<PendingState> {
  if (waitingUntil && waitingUntil.getTime() > nowMs) return 'placed';
  return (await findPendingJob(tx, id)) ? 'under way' : 'none';
}

function requireInterval(seconds: number, config: Config['scheduler']): void {
  if (!isAllowedInterval(seconds, config))
    throw invalidArgument({
      field: 'intervalSeconds',
      expected: allowedInterval(config),
      value: show(seconds),
    });
}
