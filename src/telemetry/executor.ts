import type { Meter } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { describeError } from '../contract/errors.ts';
import type { ClaimedJob, ForeignJob } from '../pipeline/claim.ts';
import type { Verdict } from '../pipeline/judge.ts';
import type { PoisonJob } from '../pipeline/lost.ts';
import type { RunEnd } from '../pipeline/run.ts';
import { briefError } from './log.ts';

/** A year: a job that was scheduled at the beginning of time would spoil every sum. */
const maxLagMs = 365 * 86_400_000;

/** EXE-12: what executors do, told as logs and metrics. */
export function executorTelemetry(log: Logger, meter: Meter, explain: (error: unknown) => unknown) {
  const claimed = meter.createCounter('sync_executor_jobs_claimed_total', {
    description: 'Jobs claimed by this process',
  });
  const finished = meter.createCounter('sync_executor_jobs_finished_total', {
    description: 'Runs whose outcome was stored',
  });
  const duration = meter.createHistogram('sync_executor_job_duration_ms', {
    description: 'Time from the start of a run until its outcome was stored',
    advice: {
      explicitBucketBoundaries: [
        5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000,
      ],
    },
  });
  const signalsStored = meter.createCounter('sync_executor_signals_total', {
    description: 'New signals stored; those that were absorbed are not counted',
  });
  const backoff = meter.createHistogram('sync_executor_backoff_seconds', {
    description: 'Pauses before a failed job is tried again',
    advice: { explicitBucketBoundaries: [5, 10, 20, 40, 80, 160, 320, 640, 900, 1800, 3600, 21_600, 86_400] },
  });
  const runningNow = meter.createGauge('sync_executor_running_gauge', {
    description: 'Jobs that this process is running',
  });
  const startLag = meter.createHistogram('sync_executor_start_lag_ms', {
    description: 'Time from when a job was due until it started; first tries only',
    advice: {
      explicitBucketBoundaries: [
        5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000,
      ],
    },
  });
  const leasesLost = meter.createCounter('sync_executor_leases_lost_total', {
    description: 'Runs whose lease was lost while they were under way',
  });
  let missing = '';

  return {
    jobsClaimed(jobs: ClaimedJob[]): void {
      if (jobs.length === 0) return;
      claimed.add(jobs.length);
      // When a later try was due is no longer known: the end of its pause is forgotten when it is over.
      for (const { attempts, wasParked, isSuspect, scheduledAt, startedAt } of jobs)
        if (attempts === 0 && !wasParked && !isSuspect)
          startLag.record(Math.min(maxLagMs, Math.max(0, startedAt.getTime() - scheduledAt.getTime())));
    },

    /** EXE-13. Once per job, because the claim that found it has corrected it. */
    ownersCorrected(jobs: ForeignJob[]): void {
      for (const { id, connectionId, tenantId, providerSlug } of jobs)
        log.warn(
          { job_id: id, connection_id: connectionId, tenant_id: tenantId, provider_slug: providerSlug },
          `job ${id} had tenant_id ${tenantId} and provider_slug "${providerSlug}", which are not those of its connection; both were set to the connection's. Fix the program that inserts it.`,
        );
    },

    running(count: number): void {
      runningNow.record(count);
    },

    /** A logger for one run. */
    runLogger: (job: ClaimedJob): Logger => log.child(facts(job)),

    /** Told before it is stored: what a connector did wrong is true whether or not the store succeeds. */
    runEnded(
      job: ClaimedJob,
      end: RunEnd,
      { error, warning }: Verdict,
      hide: (text: string) => string,
    ): void {
      if (warning) log.warn(facts(job), `${which(job)}: ${warning}`);
      if ('page' in end && end.page.cleaned > 0)
        log.warn(
          { ...facts(job), cleaned: end.page.cleaned },
          `${which(job)}: ${end.page.cleaned} signals held what Postgres cannot store; it was replaced`,
        );
      if (error && 'error' in end)
        log.debug({ ...facts(job), err: briefError(end.error, hide) }, `${which(job)}: ${error.message}`);
    },

    jobFinished(
      job: ClaimedJob,
      verdict: Verdict,
      { durationMs, signals }: { durationMs: number; signals: number },
    ): void {
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
            { ...facts(job), outcome, signals, duration_ms: Math.round(durationMs) },
            synced(job, verdict, signals, durationMs),
          );
        return;
      }
      if (isParked) {
        // A budget that is used up parks thousands of jobs, and each says the same.
        log.debug(
          { ...facts(job), outcome, error: verdict.error, retry_after: verdict.retryAfter },
          `${which(job)}: ${verdict.error?.message} Parked for ${Math.round(pauseSeconds(verdict))} s.`,
        );
        return;
      }
      const next =
        outcome === 'failed'
          ? 'the job has failed'
          : `trying again in ${Math.round(pauseSeconds(verdict))} s (failure ${job.attempts + 1})`;
      log.warn(
        { ...facts(job), outcome, error: verdict.error, retry_after: verdict.retryAfter },
        `${which(job)}: ${verdict.error?.message.replaceAll(/\s*\n\s*/g, ' ')} ${capital(next)}${verdict.needsAuth ? '; the connection needs new credentials' : ''}.`,
      );
    },

    runLost(job: ClaimedJob, why: 'lost' | 'cancelled' | 'shutdown'): void {
      if (why === 'lost') leasesLost.add(1);
      const sentence = {
        lost: 'its lease was lost; nothing of it is stored',
        cancelled: 'cancelled while it was running; nothing of it is stored',
        shutdown: 'not finished in time; it goes back into the queue',
      }[why];
      log.warn(facts(job), `${which(job)}: ${sentence}`);
    },

    leaseLost(runs: number): void {
      log.error({ runs }, `this process lost its lease, and with it ${runs} runs; going on under a new one`);
    },

    processReaped(processId: string, requeued: number): void {
      log.warn(
        { process_id: processId, requeued },
        `put ${requeued} ${requeued === 1 ? 'job' : 'jobs'} of a process that no longer lives back into the queue`,
      );
    },

    /** EXE-9: jobs whose processes keep dying. */
    jobsPoisoned(jobs: PoisonJob[]): void {
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
          ? `It runs alone, not before ${retryAfter.toISOString()}.`
          : 'The job has failed.';
        log[retryAfter ? 'warn' : 'error'](
          details,
          `${providerSlug} …${connectionId.slice(-6)}: ${error.message} Processes: ${where}. ${next}`,
        );
        if (!retryAfter) finished.add(1, { provider_slug: providerSlug, job_type: type, outcome: 'failed' });
      }
    },

    /** Said once, and again when it changes. */
    connectorsMissing(providers: string[]): void {
      const now = providers.join(', ');
      if (now !== '' && now !== missing)
        log.warn(
          { providers },
          `jobs wait for connectors that this process does not have: ${now}. Add them to "connectors", or run them elsewhere.`,
        );
      missing = now;
    },

    leaseNotReturned(error: unknown): void {
      log.warn(
        `the lease could not be given back: ${describeError(explain(error))}; its jobs go back when it ends`,
      );
    },

    executorStopped({ finished: done, putBack }: { finished: number; putBack: number }): void {
      log.info(
        { event: 'executor_stopped', finished: done, put_back: putBack },
        `executor stopped: ${done} runs finished, ${putBack} jobs put back`,
      );
    },
  };
}

function facts(job: ClaimedJob) {
  return {
    job_id: job.id,
    connection_id: job.connectionId,
    tenant_id: job.tenantId,
    provider_slug: job.providerSlug,
    job_type: job.type,
    attempts: job.attempts,
  };
}

const which = ({ providerSlug, connectionId }: ClaimedJob) => `${providerSlug} …${connectionId.slice(-6)}`;
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function pauseSeconds({ retryAfter, error }: Verdict): number {
  return retryAfter && error ? (retryAfter.getTime() - Date.parse(error.at)) / 1000 : 0;
}

function synced(job: ClaimedJob, verdict: Verdict, signals: number, durationMs: number): string {
  const known = verdict.signals.length - signals;
  const found = `${signals} new ${signals === 1 ? 'signal' : 'signals'}${known > 0 ? ` (${known} known)` : ''}`;
  return `synced ${which(job)}: ${found}${verdict.followUp ? ', more to come' : ''} (${Math.round(durationMs)} ms)`;
}
