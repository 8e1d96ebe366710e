import { z } from 'zod';
import type { Config } from '../../config/settings.ts';
import { connectionHealths, connectionStatuses, jobStatuses } from '../../contract/states.ts';
import { baseInterval } from '../../schedule/interval.ts';
import { weekdays } from '../../schedule/schedule.ts';
import { readSyncTexts } from '../../schedule/sync-metadata.ts';
import { readTimetable } from '../../schedule/timetable.ts';
import type { RecentRunRow } from '../../store/connection-lists.ts';
import type { ConnectionRow } from '../../store/connections.ts';
import {
  jsonOf,
  maybe,
  maybeText,
  maybeTime,
  maybeUuid,
  providerText,
  time,
  uuid,
} from '../../values/model.ts';
import { isSecretName, jsonWithoutSecrets } from '../../values/redact.ts';
import { JsonText, type ReadJson } from '../../values/stored-json.ts';
import { durationMs, statusOf } from '../jobs/model.ts';

const sync = z.object({
  intervalSeconds: maybe(z.int()).meta({ description: 'Configured interval; null: the default interval.' }),
  baseIntervalSeconds: z
    .int()
    .meta({ description: 'Effective interval, unless there is a schedule.', example: 900 }),
  nextRunAt: maybeTime.meta({
    description: 'When the scheduler queues the next job, from its metadata.',
  }),
  firstActivatedAt: maybeTime,
  lastJitterSeconds: maybe(z.number()),
  cursor: z.unknown().meta({ description: 'Sync cursor of its connector; null before the first run.' }),
  invalid: z
    .array(z.object({ field: z.string(), value: z.string(), expected: z.string() }))
    .meta({ description: 'Invalid metadata fields; they are ignored.' }),
});
/** Parsed `metadata.sync`. Invalid fields count as absent. */
export interface ConnectionSync extends z.output<typeof sync> {}

const schedule = z.object({
  cron: z
    .string()
    .optional()
    .meta({ description: 'Cron expression of five fields.', example: '0 6 * * 1-5' }),
  timesOfDay: z
    .array(z.string())
    .optional()
    .meta({ description: 'Instead of `cron`.', example: ['06:00', '18:00'] }),
  daysOfWeek: z
    .array(z.enum(weekdays))
    .optional()
    .meta({ description: 'Absent: every day.', example: ['mon', 'fri'] }),
  timeZone: z.string().meta({ description: 'IANA time zone.', example: 'Europe/Berlin' }),
});

const recentRun = z.object({
  jobId: uuid,
  status: z.enum(jobStatuses),
  endedAt: time,
  durationMs: maybe(z.number()),
  signals: z.int(),
});
export interface RecentRun extends z.output<typeof recentRun> {}

const connection = z.object({
  id: uuid,
  tenantId: uuid,
  tenantName: maybeText.meta({ example: 'Northwind' }),
  provider: providerText,
  providerName: maybeText.meta({ example: 'GitHub' }),
  externalId: maybeText.meta({ description: "The provider's id of the account." }),
  credentialId: maybeUuid.meta({
    description: 'The credential that its runs use; other connections may share it.',
  }),
  status: z.enum(connectionStatuses),
  health: z.enum(connectionHealths),
  failingSince: maybeTime.meta({ description: 'Start of the current series of failed runs.' }),
  failure: maybeText.meta({
    description:
      'Kind of the latest failure: rate_limited, unauthorized, permanent, cursor_expired or transient.',
    example: 'rate_limited',
  }),
  deletingSince: maybeTime.meta({
    description: 'When its deletion started. It is then `disabled` and cannot be changed.',
  }),
  nextStartAt: maybeTime.meta({ description: 'Expected start of the next run.' }),
  lastEndedAt: maybeTime.meta({ description: 'End of its latest incremental job.' }),
  schedule: maybe(schedule).meta({ description: 'Null: by interval.' }),
  sync,
  config: z.record(z.string(), z.unknown()).meta({ description: 'Connector configuration.' }),
  createdAt: time,
  updatedAt: time,
  recent: z
    .array(recentRun)
    .optional()
    .meta({ description: 'Latest runs, newest first; only with `include=recent`.' }),
});
/** An account at a provider that is synced on a schedule. */
export interface Connection extends z.output<typeof connection> {}

const { invalid: invalidMetadata, ...syncFields } = sync.shape;

const fromSync = Object.fromEntries(
  Object.keys(syncFields).map((key) => [key, (of: Connection) => of.sync[key as keyof ConnectionSync]]),
) as { [Key in keyof typeof syncFields]: (of: Connection) => ConnectionSync[Key] };

export const connectionJson = jsonOf(
  connection,
  connection
    .omit({ sync: true })
    .extend({ ...syncFields, invalidMetadata })
    .meta({ id: 'Connection' }),
  {
    ...fromSync,
    invalidMetadata: (of) => of.sync.invalid,
    config: ({ config }) => shownConfig(config) as Record<string, unknown>,
  },
);

/** Text is parsed only if a secret name occurs in it, and is text again before the next row. */
function shownConfig(config: unknown): unknown {
  if (!(config instanceof JsonText)) return JSON.parse(jsonWithoutSecrets(config));
  return isSecretName(config.text) ? new JsonText(jsonWithoutSecrets(JSON.parse(config.text))) : config;
}

export const recentRunFromRow = (row: RecentRunRow): RecentRun => ({
  jobId: row.id,
  status: statusOf(row),
  endedAt: row.ended_at,
  durationMs: durationMs(row.started_at, row.finished_at),
  signals: row.signal_count,
});

export function connectionFromRow(
  row: ConnectionRow,
  { config, json }: { config: Config['scheduler']; json: ReadJson },
): Connection {
  const sync = readSyncTexts(row, config);
  const { timetable, invalid } = readTimetable(row.schedule);
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    externalId: row.external_id ?? undefined,
    credentialId: row.credential_id ?? undefined,
    status: row.status,
    config: json(row.config) as Record<string, unknown>,
    tenantName: row.tenant_name ?? undefined,
    providerName: row.provider_name ?? undefined,
    health: row.status !== 'active' ? row.status : row.failing_since ? 'failing' : 'ok',
    failingSince: row.failing_since ?? undefined,
    failure: row.failure ?? undefined,
    deletingSince: row.deleting_since ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    nextStartAt: row.status === 'active' ? (row.pending_at ?? toDate(sync.nextRunAtMs)) : undefined,
    lastEndedAt: row.last_incremental_ended_at ?? undefined,
    schedule: timetable?.schedule,
    sync: {
      intervalSeconds: sync.intervalSeconds,
      baseIntervalSeconds: baseInterval(sync.intervalSeconds, config),
      nextRunAt: toDate(sync.nextRunAtMs),
      firstActivatedAt: toDate(sync.firstActivatedAtMs),
      lastJitterSeconds: sync.lastJitterSeconds,
      cursor: row.cursor === null ? undefined : json(row.cursor),
      invalid: invalid ? [invalid, ...sync.invalid] : sync.invalid,
    },
  };
}

const toDate = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));
