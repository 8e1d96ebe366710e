import { z } from 'zod';
import type { Caller } from '../../caller/caller.ts';
import { type JobStatus, jobStatuses, jobTypes } from '../../contract/states.ts';
import type { AttemptRow } from '../../store/attempts.ts';
import type { JobRow, JobWithCursors } from '../../store/jobs.ts';
import { isObject } from '../../values/is-object.ts';
import { maxErrorLength } from '../../values/limits.ts';
import {
  isoText,
  jsonOf,
  maybe,
  maybeText,
  maybeTime,
  providerText,
  time,
  uuid,
} from '../../values/model.ts';
import { parseStored, type ReadJson } from '../../values/stored-json.ts';

const jobError = z
  .object({
    kind: z.string().meta({ example: 'rate_limited' }),
    name: z.string().meta({ example: 'RateLimitedError' }),
    message: z.string(),
    at: z.string(),
    hint: z.string().optional(),
  })
  .meta({ id: 'JobError' });

const jobFailure = jobError.omit({ hint: true }).extend({
  /** Parked for lack of budget: no failure. */
  parked: z.boolean().optional(),
});
export interface JobFailure extends z.output<typeof jobFailure> {}

const job = z.object({
  id: uuid,
  tenantId: uuid,
  provider: providerText,
  connectionId: uuid,
  connectionName: maybeText.meta({ description: 'The external id of the connection.' }),
  type: z.enum(jobTypes),
  status: z.enum(jobStatuses),
  priority: z.int(),
  attempts: z.int().meta({ description: 'Number of earlier failures.' }),
  scheduledAt: time,
  retryAfter: maybeTime.meta({ description: 'Not claimed before this time.' }),
  startedAt: maybeTime,
  finishedAt: maybeTime,
  signals: z.int().meta({ description: 'Number of stored signals.' }),
  cursor: z.unknown().meta({ description: 'Cursor of this job; null: the cursor of the connection.' }),
  nextCursor: z.unknown().meta({ description: 'Cursor stored by this job.' }),
  error: maybe(jobFailure),
  blocked: z.boolean().meta({
    description: 'Queued, but the connection is not active or is running another job.',
  }),
  createdAt: time,
});
/** One sync of a connection, with its retries. */
export interface Job extends z.output<typeof job> {}

const run = z.object({
  number: z.int(),
  outcome: z.enum(['succeeded', 'failed', 'retried', 'lost', 'cancelled', 'running']),
  startedAt: time,
  endedAt: maybeTime,
  error: maybe(jobFailure),
  retryAfter: maybeTime,
  log: z
    .array(
      z.object({
        at: isoText,
        level: z.string().meta({ example: 'info' }),
        message: z.string(),
        fields: z.record(z.string(), z.unknown()),
      }),
    )
    .meta({ description: "The connector's first 100 log lines." }),
});
/** One attempt of a job. */
export interface Run extends z.output<typeof run> {}

const jobDetail = job.extend({
  verdict: z.string().meta({ description: 'Outcome in one sentence.' }),
  runs: z.array(run),
});

/** With its newest runs, up to about 8 MB of errors and logs. */
export interface JobDetail extends z.output<typeof jobDetail> {}

const computed = { durationMs: maybe(z.number()), error: maybe(jobError) };
const shownJob = job.extend(computed).meta({ id: 'Job' });
const shownRun = run.extend(computed).meta({ id: 'Run' });
const shownDetail = shownJob
  .extend({ verdict: jobDetail.shape.verdict, runs: z.array(shownRun) })
  .meta({ id: 'JobDetail', base: shownJob });

const error = (failed: { error: JobFailure | undefined }) => errorOf(failed.error);

const duration = ({ startedAt, finishedAt }: Job) => durationMs(startedAt, finishedAt);

export const jobJson = jsonOf(job, shownJob, { error, durationMs: duration });

export const jobDetailJson = jsonOf(jobDetail, shownDetail, {
  error,
  durationMs: duration,
  runs: ({ runs }) =>
    runs.map((run) => ({
      ...run,
      error: error(run),
      durationMs: durationMs(run.startedAt, run.endedAt),
    })),
});

const hints: Record<string, string> = {
  rate_limited: 'No action needed: retried when the provider allows it.',
  unauthorized: 'Ask the customer to connect again, then resume the connection.',
  permanent: 'Retrying will not help: fix the cause, then trigger the connection.',
  cursor_expired: 'No action needed: a full sync follows automatically.',
  transient: 'Retried automatically with backoff.',
  process_died: 'Find out why these processes died: memory limits, native crashes, calls of process.exit().',
};

function errorOf(failure: JobFailure | undefined): z.output<typeof jobError> | undefined {
  return (
    failure && { ...failure, hint: Object.hasOwn(hints, failure.kind) ? hints[failure.kind] : undefined }
  );
}

export function jobFromRow(row: JobWithCursors, { json, caller }: { json: ReadJson; caller: Caller }): Job {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    connectionId: row.connection_id,
    connectionName: row.connection_name ?? undefined,
    type: row.job_type,
    status: statusOf(row),
    priority: row.priority,
    attempts: row.attempts,
    scheduledAt: row.scheduled_at,
    retryAfter: row.retry_after ?? undefined,
    startedAt: row.started_at ?? undefined,
    finishedAt: row.finished_at ?? undefined,
    cursor: row.cursor === null ? undefined : (json(row.cursor) ?? undefined),
    nextCursor: row.next_cursor === null ? undefined : (json(row.next_cursor) ?? undefined),
    signals: row.signal_count,
    error: failureOf(row.error, caller),
    blocked: row.blocked,
    createdAt: row.created_at,
  };
}

export function runFromRow(row: AttemptRow, caller: Caller): Run {
  return {
    number: row.number,
    outcome: row.outcome,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    retryAfter: row.retry_after ?? undefined,
    error: failureOf(row.error, caller),
    log: row.log ?? [],
  };
}

export const statusOf = ({ status }: Pick<JobRow, 'status'>): JobStatus =>
  status === 'completed' ? 'succeeded' : status;

export const durationMs = (from: Date | null | undefined, to: Date | null | undefined) =>
  from && to ? Math.max(0, to.getTime() - from.getTime()) : undefined;

/**
 * Other writers may have stored any JSON: a page keeps only these fields. EXE-9: only operators see `deaths`,
 * which has hosts and pids.
 */
function failureOf(error: string | null, { tenantId }: Caller): JobFailure | undefined {
  const value = error === null ? null : parseStored(error);
  if (value === null) return undefined;
  const { deaths, ...stored } = isObject(value) ? value : {};
  const text = (field: string, fallback: string) => {
    const found = stored[field];
    return typeof found === 'string' ? found : fallback;
  };
  const message = text('message', JSON.stringify(isObject(value) ? stored : value).slice(0, maxErrorLength));
  const where =
    tenantId === undefined && Array.isArray(deaths)
      ? ` Processes: ${deaths.map((death) => `${death?.pid} on ${death?.host}`).join(', ')}.`
      : '';
  return {
    kind: text('kind', 'unknown'),
    name: text('name', 'Error'),
    message: message + where.slice(0, maxErrorLength),
    at: text('at', ''),
    ...(stored['parked'] === true && { parked: true }),
  };
}
