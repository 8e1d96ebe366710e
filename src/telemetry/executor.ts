import type { Meter } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { describeError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import type { RunEvents } from '../pipeline/events.ts';
import type { Verdict } from '../pipeline/judge.ts';
import type { SuspectJob } from '../pipeline/lost-jobs.ts';
import type { ForeignJob } from '../pipeline/ownership.ts';
import { briefError } from '../platform/log.ts';
import { counted } from './tick-summary.ts';

/** An old `scheduled_at` would distort the sum. */
const maxLagMs = 365 * 86_400_000;

/** Why a run ended without storing anything. */
export type LossReason = 'leaseLost' | 'claimLost' | 'jobDeleted' | 'notCommitted' | 'cancelled' | 'shutdown';

const lossSentences: Record<LossReason, string> = {
  leaseLost: 'lost its lease; nothing is stored unless its commit had begun',
  claimLost: 'its job was requeued, ended or claimed again; nothing was stored',
  jobDeleted: 'its job was deleted; nothing was stored',
  notCommitted: 'the run no longer held its job, or its commit failed until shutdown; nothing was stored',
  cancelled: 'cancelled while running; nothing was stored',
  shutdown: 'not finished within the grace time; requeued',
};

/** EXE-12. */
export interface ExecutorTelemetry extends RunEvents {
  jobsClaimed(jobs: ClaimedJob[]): void;
  /** EXE-13: once per job, because the claim corrects it. */
  ownersCorrected(jobs: ForeignJob[]): void;
  running(count: number): void;
  runLogger(job: ClaimedJob): Logger;
  jobFinished(job: ClaimedJob, verdict: Verdict, run: { durationMs: number; signals: number }): void;
  runLost(job: ClaimedJob, why: LossReason): void;
  leaseLost(runs: number): void;
  processReaped(processId: string, requeued: number): void;
  /** EXE-9. */
  jobsPoisoned(jobs: SuspectJob[]): void;
  /** Logged when the list changes. */
  connectorsMissing(providers: string[]): void;
  /** The query for the next due job, by the server. */
  dueQueryCancelled(limitMs: number, pollMs: number): void;
  leaseNotReturned(error: unknown): void;
  executorStopped(runs: { finished: number; requeued: number }): void;
}

export function executorTelemetry(
  log: Logger,
  meter: Meter,
  explain: (error: unknown) => unknown,
): ExecutorTelemetry {
  const claimed = meter.createCounter('sync_executor_jobs_claimed_total', {
    description: 'Jobs claimed by this process',
  });
  const finished = meter.createCounter('sync_executor_jobs_finished_total', {
    description: 'Runs with a stored outcome: succeeded, requeued, failed, or parked (budget used up)',
  });
  const duration = meter.createHistogram('sync_executor_job_duration_ms', {
    description: 'Time from the start of a run to the commit of its outcome',
    advice: {
      explicitBucketBoundaries: [
        5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000,
      ],
    },
  });
  const signalsStored = meter.createCounter('sync_executor_signals_total', {
    description: 'New signals stored, without duplicates',
  });
  const backoff = meter.createHistogram('sync_executor_backoff_seconds', {
    description: 'Backoff before a failed job is retried',
    advice: { explicitBucketBoundaries: [5, 10, 20, 40, 80, 160, 320, 640, 900, 1800, 3600, 21_600, 86_400] },
  });
  const runningNow = meter.createGauge('sync_executor_running_gauge', {
    description: 'Jobs this process is running',
  });
  const startLag = meter.createHistogram('sync_executor_start_lag_ms', {
    description: 'Time from a job being due to its start, first attempts only',
    advice: {
      explicitBucketBoundaries: [
        5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000,
      ],
    },
  });
  const leasesLost = meter.createCounter('sync_executor_leases_lost_total', {
    description: 'Runs whose result was discarded because their lease, claim or job was lost',
  });
  let missing = '';

  return {
    jobsClaimed(jobs) {
      if (jobs.length === 0) return;
      claimed.add(jobs.length);
      // The due time of a retry is not stored.
      for (const { attempts, wasParked, isSuspect, scheduledAt, startedAt } of jobs)
        if (attempts === 0 && !wasParked && !isSuspect)
          startLag.record(Math.min(maxLagMs, Math.max(0, startedAt.getTime() - scheduledAt.getTime())));
    },

    ownersCorrected(jobs) {
      for (const { id, connectionId, tenantId, providerSlug } of jobs)
        log.warn(
          { job_id: id, connection_id: connectionId, tenant_id: tenantId, provider_slug: providerSlug },
          `job ${id} had tenant_id ${tenantId} and provider_slug "${providerSlug}", unlike its connection; ` +
            'both were corrected. Fix the program that inserts such jobs.',
        );
    },

    running(count) {
      runningNow.record(count);
    },

    runLogger: (job) => log.child(logFields(job)),

    /** Before the commit: connector mistakes are reported even if it fails. */
    runEnded(job, end, { error, warning }, redact) {
      if (warning) log.warn(logFields(job), `${jobLabel(job)}: ${warning}`);
      if ('page' in end && end.page.cleaned > 0)
        log.warn(
          { ...logFields(job), cleaned: end.page.cleaned },
          `${jobLabel(job)}: ${end.page.cleaned} signals contained data that Postgres cannot store; replaced`,
        );
      if (error && 'error' in end)
        log.debug(
          { ...logFields(job), err: briefError(end.error, redact) },
          `${jobLabel(job)}: ${error.message}`,
        );
    },

    jobFinished(job, verdict, { durationMs, signals }) {
      const { providerSlug, type } = job;
      const isParked = verdict.error?.parked === true;
      const outcome = isParked ? 'parked' : verdict.outcome;
      finished.add(1, { provider_slug: providerSlug, job_type: type, outcome });
      duration.record(durationMs);
      if (signals > 0) signalsStored.add(signals, { provider_slug: providerSlug });
      if (verdict.retryAfter && !isParked) backoff.record(pauseSeconds(verdict));
      if (outcome === 'succeeded') {
        if (log.isLevelEnabled('debug'))
          log.debug(
            { ...logFields(job), outcome, signals, duration_ms: Math.round(durationMs) },
            synced(job, verdict, signals, durationMs),
          );
        return;
      }
      if (isParked) {
        // An exhausted budget parks thousands of jobs.
        log.debug(
          { ...logFields(job), outcome, error: verdict.error, retry_after: verdict.retryAfter },
          `${jobLabel(job)}: ${verdict.error?.message} Parked for ${Math.round(pauseSeconds(verdict))} s.`,
        );
        return;
      }
      const next =
        outcome === 'failed'
          ? 'the job has failed'
          : `retrying in ${Math.round(pauseSeconds(verdict))} s (failure ${job.attempts + 1})`;
      const message = verdict.error?.message.replaceAll(/\s*\n\s*/g, ' ');
      const needsAuth = verdict.needsAuth ? '; the connection needs new credentials' : '';
      log.warn(
        { ...logFields(job), outcome, error: verdict.error, retry_after: verdict.retryAfter },
        `${jobLabel(job)}: ${message} ${capitalize(next)}${needsAuth}.`,
      );
    },

    runLost(job, why) {
      if (why !== 'cancelled' && why !== 'shutdown') leasesLost.add(1);
      log.warn(logFields(job), `${jobLabel(job)}: ${lossSentences[why]}`);
    },

    leaseLost(runs) {
      log.error({ runs }, `this process lost its lease and ${runs} runs; continuing under a new lease`);
    },

    processReaped(processId, requeued) {
      log.warn(
        { process_id: processId, requeued },
        `requeued ${requeued} ${requeued === 1 ? 'job' : 'jobs'} of a dead process`,
      );
    },

    jobsPoisoned(jobs) {
      for (const { jobId, connectionId, tenantId, providerSlug, type, error, retryAfter } of jobs) {
        const details = {
          job_id: jobId,
          connection_id: connectionId,
          tenant_id: tenantId,
          provider_slug: providerSlug,
          job_type: type,
          error,
          retry_after: retryAfter,
        };
        const where = error.deaths.map(({ host, pid }) => `${pid} on ${host}`).join(', ');
        const next = retryAfter
          ? `It runs without other suspects, not before ${retryAfter.toISOString()}.`
          : 'The job has failed.';
        log[retryAfter ? 'warn' : 'error'](
          details,
          `${providerSlug} …${connectionId.slice(-6)}: ${error.message} Processes: ${where}. ${next}`,
        );
        if (!retryAfter) finished.add(1, { provider_slug: providerSlug, job_type: type, outcome: 'failed' });
      }
    },

    connectorsMissing(providers) {
      const now = providers.join(', ');
      if (now !== '' && now !== missing)
        log.warn(
          { providers },
          `jobs are queued for providers without a connector in this process: ${now}. ` +
            'Add their connectors to "connectors", or run them in another process.',
        );
      missing = now;
    },

    dueQueryCancelled(limitMs, pollMs) {
      log.warn(
        { limit_ms: limitMs, poll_ms: pollMs },
        `the query for the next due job was cancelled after ${limitMs} ms; this executor claims every ` +
          `${pollMs} ms instead. An old snapshot may pin dead index entries: run \`syncline doctor\`.`,
      );
    },

    leaseNotReturned(error) {
      const reason = describeError(explain(error));
      log.warn(`the lease could not be released: ${reason}; its jobs are requeued when it expires`);
    },

    executorStopped({ finished: done, requeued }) {
      log.info(
        { event: 'executor_stopped', finished: done, put_back: requeued },
        `executor stopped: ${counted(done, 'run')} finished, ${counted(requeued, 'job')} requeued`,
      );
    },
  };
}

function logFields(job: ClaimedJob) {
  return {
    job_id: job.id,
    connection_id: job.connectionId,
    tenant_id: job.tenantId,
    provider_slug: job.providerSlug,
    job_type: job.type,
    attempts: job.attempts,
  };
}

const jobLabel = ({ providerSlug, connectionId }: ClaimedJob) => `${providerSlug} …${connectionId.slice(-6)}`;
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function pauseSeconds({ retryAfter, error }: Verdict): number {
  return retryAfter && error ? (retryAfter.getTime() - Date.parse(error.at)) / 1000 : 0;
}

function synced(job: ClaimedJob, verdict: Verdict, signals: number, durationMs: number): string {
  const duplicates = verdict.signals.length - signals;
  const known = duplicates > 0 ? ` (${duplicates} known)` : '';
  const found = `${signals} new ${signals === 1 ? 'signal' : 'signals'}${known}`;
  const more = verdict.followUp ? ', more to come' : '';
  return `synced ${jobLabel(job)}: ${found}${more} (${Math.round(durationMs)} ms)`;
}
