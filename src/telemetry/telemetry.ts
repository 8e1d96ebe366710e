import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { describeError } from '../contract/errors.ts';
import type { PlacedJob, SchedulerEvents } from '../pipeline/events.ts';
import { briefError } from '../platform/log.ts';
import { formatInstant } from '../values/instant.ts';
import { type ExecutorTelemetry, executorTelemetry } from './executor.ts';
import { createTickSummary } from './tick-summary.ts';

/** Default: those registered with OpenTelemetry. */
export interface TelemetryProviders {
  meterProvider?: MeterProvider | undefined;
  tracerProvider?: TracerProvider | undefined;
}

export interface Telemetry extends SchedulerEvents, ExecutorTelemetry {
  connectionLost(error: Error): void;
  /** Positive: the process's clock is ahead. */
  clockSkewed(skewMs: number): void;
  pruned(count: number, what: string): void;
  roundFailed(role: string, error: unknown, retryMs: number): void;
}

export function createTelemetry(
  log: Logger,
  { tenantLabel }: Config['metrics'],
  { explain, monotonicMs }: { explain: (error: unknown) => unknown; monotonicMs: () => number },
  providers: TelemetryProviders = {},
): Telemetry {
  const tracer = (providers.tracerProvider ?? trace).getTracer('syncline');
  const meter = (providers.meterProvider ?? metrics).getMeter('syncline');
  const jobsScheduled = meter.createCounter('sync_scheduler_jobs_scheduled_total', {
    description: 'Incremental jobs queued by the scheduler',
  });
  const jitterSeconds = meter.createHistogram('sync_scheduler_jitter_seconds', {
    description: 'Jitter added to the slot of a queued job',
    advice: { explicitBucketBoundaries: [0, 5, 15, 30, 60, 120, 180, 300, 600, 1800, 3600, 7200, 21_600] },
  });
  const tickDuration = meter.createHistogram('sync_scheduler_tick_duration_ms', {
    description: 'Duration of a tick',
    advice: {
      explicitBucketBoundaries: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15_000, 60_000],
    },
  });
  const backlog = meter.createGauge('sync_scheduler_backlog_gauge', {
    description: 'Overdue connections without a job at the start of the latest tick of this process',
  });

  const executor = executorTelemetry(log, meter, explain);
  const summary = createTickSummary(monotonicMs);

  return {
    ...executor,

    jobFinished(job, verdict, run) {
      summary.runFinished(run.signals);
      executor.jobFinished(job, verdict, run);
    },

    connectionLost(error) {
      log.debug(`an idle database connection was lost: ${describeError(error)}`);
    },

    clockSkewed(skewMs) {
      const direction = skewMs > 0 ? 'ahead of' : 'behind';
      const seconds = Math.round(Math.abs(skewMs) / 1000);
      log.warn(
        { event: 'clock_skew', skew_seconds: Math.trunc(skewMs / 1000) },
        `this machine's clock is ${seconds} s ${direction} the database's; ` +
          "the database's clock decides what is due. Check NTP on both.",
      );
    },

    jobPlaced(job, config) {
      const { tenantId, providerSlug } = job.connection;
      jobsScheduled.add(
        1,
        tenantLabel ? { provider_slug: providerSlug, tenant_id: tenantId } : { provider_slug: providerSlug },
      );
      jitterSeconds.record(job.jitterSeconds);
      const span = tracer.startSpan('sync_scheduler.place_job');
      // A catch-up places hundreds of thousands of jobs.
      if (span.isRecording() || log.isLevelEnabled('debug')) {
        const details = placedDetails(job, config);
        span.setAttributes(details);
        log.debug(details, placedSentence(job));
      }
      span.end();
    },

    invalidMetadata({ id, tenantId, providerSlug, sync }) {
      const problems = sync.invalid.map(
        ({ field, value, expected }) => `${field} is ${value}, expected ${expected}`,
      );
      log.warn(
        { connection_id: id, tenant_id: tenantId, provider_slug: providerSlug, invalid: sync.invalid },
        `metadata validation failed: ${problems.join('; ')}; ignored`,
      );
    },

    tickFinished(result) {
      tickDuration.record(result.durationMs);
      backlog.record(result.backlog);
      const { level, fields, sentence } = summary.tickFinished(result);
      log[level](fields, sentence);
    },

    pruned(count, what) {
      log.info({ pruned: count }, `janitor deleted ${count} ${what}${count === 1 ? '' : 's'}`);
    },

    roundFailed(role, error, retryMs) {
      const seconds = (retryMs / 1000).toFixed(1);
      log.error(
        { role, err: briefError(error) },
        `${role} failed: ${describeError(explain(error))}; retrying in ${seconds} s`,
      );
    },
  };
}

function placedDetails(job: PlacedJob, { jitterPctMin, jitterPctMax }: Config['scheduler']) {
  return {
    job_id: job.id,
    connection_id: job.connection.id,
    tenant_id: job.connection.tenantId,
    provider_slug: job.connection.providerSlug,
    base_interval_seconds: job.baseSeconds,
    jitter_seconds: job.jitterSeconds,
    jitter_pct_min: jitterPctMin,
    jitter_pct_max: jitterPctMax,
    next_due_at: formatInstant(job.slotMs),
    scheduled_at: formatInstant(job.scheduledAtMs),
    next_run_at: formatInstant(job.nextRunAtMs),
  };
}

function placedSentence({
  connection,
  scheduledAtMs,
  jitterSeconds,
  nextRunAtMs,
  baseSeconds,
}: PlacedJob): string {
  const clock = (ms: number) => formatInstant(ms).slice(11, 19);
  const label = `${connection.providerSlug} …${connection.id.slice(-6)}`;
  const interval = `every ${baseSeconds} s, jitter ${jitterSeconds} s`;
  return `placed ${label} for ${clock(scheduledAtMs)} (${interval}), next ${clock(nextRunAtMs)} UTC`;
}
