import type { Recorder } from '../../caller/audit.ts';
import type { Caller } from '../../caller/caller.ts';
import { existingConnection } from '../../caller/connection-access.ts';
import { mapPage, pageLimit, pageOf } from '../../caller/keyset.ts';
import { tenantOwner } from '../../caller/tenant-owner.ts';
import type { Config } from '../../config/settings.ts';
import type { Connector } from '../../contract/connector.ts';
import { changeCredential, requireCredential } from '../../credentials/index.ts';
import type { Ports } from '../../platform/ports.ts';
import { previewRuns } from '../../schedule/preview.ts';
import { scheduleColumn } from '../../schedule/schedule.ts';
import { previewSchedule } from '../../schedule/scheduled-placement.ts';
import { syncOf } from '../../schedule/sync-metadata.ts';
import { timetableOf } from '../../schedule/timetable.ts';
import { insertConnection } from '../../store/connections.ts';
import type { Database } from '../../store/database.ts';
import { listCursors } from '../../store/job-history.ts';
import { findPendingJob } from '../../store/jobs.ts';
import { upsertProvider } from '../../store/providers.ts';
import { requireSmall, requireText, requireWhole } from '../../values/arguments.ts';
import { requireConfig } from '../../values/connection-config.ts';
import { maxConfigBytes } from '../../values/limits.ts';
import type { ReadJson } from '../../values/stored-json.ts';
import { historyKey, keyInHistory } from '../jobs/index.ts';
import type { ConnectionsApi } from './api.ts';
import { createBulk } from './bulk.ts';
import { changeConfig } from './config.ts';
import { needsCredential } from './consent.ts';
import { createControl } from './control.ts';
import { listPage, recentOf, requireFilter } from './list.ts';
import { connectionFromRow } from './model.ts';
import { cursorFromRow } from './results.ts';
import { createScheduling, requireInterval, requireOnlyOne, requireSchedule } from './schedule.ts';

/** Jitter makes later windows meaningless. */
const maxPreviewedRuns = 100;

/** Per connection: in a bulk step, many may be locked. */
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
}: {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  connectors: ReadonlyMap<string, Connector>;
  caller: Caller;
  record: Recorder;
  json: ReadJson;
  continueDeletions: () => void;
}): Omit<ConnectionsApi, 'repairSchedule'> {
  const shared = { db, config, ports, connectors, caller, record, json, continueDeletions };
  const control = createControl(shared);
  const bulkControl = createControl({ ...shared, lockTimeoutMs: bulkLockTimeoutMs, isBulk: true });
  return {
    ...control,

    async create(input, note = {}) {
      const owner = await tenantOwner(shared, input);
      requireText('provider', input.provider, 200);
      if (input.externalId !== undefined) requireText('externalId', input.externalId, 500);
      requireOnlyOne(input.intervalSeconds, input.schedule);
      if (input.intervalSeconds !== undefined) requireInterval(input.intervalSeconds, config);
      const schedule = input.schedule ? requireSchedule(input.schedule) : null;
      await requireConfig('config', input.config, connectors.get(input.provider));
      requireSmall('metadata', input.metadata, maxConfigBytes);
      const now = await db.now();
      const id = ports.newId();
      const connector = connectors.get(input.provider);
      // Without a credential, a run fails; the first one activates the connection.
      const waits = input.credentialId === undefined && needsCredential(connector);
      const sync = {
        ...syncOf(input.metadata),
        ...(!waits && { first_activated_at: now.toISOString() }),
        ...(input.intervalSeconds !== undefined && { interval_seconds: input.intervalSeconds }),
      };
      if (connector)
        await upsertProvider(db, now, { slug: input.provider, displayName: connector.name, authType: null });
      return db.transaction(async (tx) => {
        const { provider, credentialId } = input;
        const { tenantId } = owner;
        await owner.store(tx, now, note);
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
          schedule: schedule && scheduleColumn(schedule),
        });
        const subject = { tenantId, connectionId: id };
        await record(tx, now, { ...subject, kind: 'connection.created' }, note);
        return connectionFromRow(await existingConnection(tx, id), shared);
      });
    },

    async get(id) {
      return connectionFromRow(await existingConnection(db, id), shared);
    },

    async list(request = {}) {
      const { cursor, limit: requestedLimit, recent = false, ...filter } = request;
      const limit = pageLimit(requestedLimit);
      requireFilter(filter);
      const page = await listPage(db, filter, cursor, limit);
      const runs = recent ? await recentOf(db, page.items) : undefined;
      return mapPage(page, (row) => ({
        ...connectionFromRow(row, shared),
        ...(runs && { recent: runs.get(row.id) ?? [] }),
      }));
    },

    async cursors(id, { cursor, limit: requestedLimit } = {}) {
      const limit = pageLimit(requestedLimit);
      const before = historyKey(cursor);
      await existingConnection(db, id);
      const rows = await listCursors(db, id, { before, limit: limit + 1 });
      return mapPage(pageOf('history', rows, keyInHistory), (row) => cursorFromRow(row, json));
    },

    ...createBulk({ db, ports, control: bulkControl }),

    async setCredential(id, credentialId, note = {}) {
      return connectionFromRow(await changeCredential({ db, ports, record }, id, credentialId, note), shared);
    },

    async setConfig(id, connectionConfig, note = {}) {
      return connectionFromRow(
        await changeConfig({ db, record, connectors }, id, connectionConfig, note),
        shared,
      );
    },

    ...createScheduling({ db, config, ports, record, json }),

    async activate(id, note = {}) {
      return control.resume(id, note);
    },

    async preview(id, { runs = 5 } = {}) {
      requireWhole('runs', runs, 1, maxPreviewedRuns);
      const connection = connectionFromRow(await existingConnection(db, id), shared);
      const pending = await findPendingJob(db, id);
      if (connection.status !== 'active') return { connection, pending: pending?.status, runs: [] };
      const times = {
        lastEndedMs: connection.lastEndedAt?.getTime(),
        nextRunAtMs: connection.sync.nextRunAt?.getTime(),
        pendingAtMs: pending?.scheduled_at.getTime(),
        tickIntervalSeconds: config.tickIntervalSeconds,
        nowMs: ports.now(),
      };
      const baseSeconds = connection.sync.baseIntervalSeconds;
      const windows = connection.schedule
        ? previewSchedule({ ...times, timetable: timetableOf(connection.schedule), bounds: config }, runs)
        : previewRuns({ ...times, baseSeconds, jitter: config }, runs);
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
}
