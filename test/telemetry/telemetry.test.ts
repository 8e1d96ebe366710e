import { MeterProvider } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MetricsServer, startMetricsServer } from '../../src/cli/metrics-server.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { connect, ended } = database;
let metrics: MetricsServer;
beforeEach(async () => {
  await database.empty();
  metrics = await startMetricsServer({ host: '127.0.0.1', port: 0 });
});
afterEach(() => metrics.close());

const scrape = async () => (await fetch(metrics.url)).text();
const at = new Date('2025-01-01T12:15:00Z');

/** A due connection that ran before; with `fixedJitter` its jitter is 45 s. */
async function addDueConnection(): Promise<string> {
  const id = await connect({ metadata: { sync: { next_run_at: '2025-01-01T12:14:00Z' } } });
  await ended(id, '2025-01-01T12:00:00Z');
  return id;
}
/** The connection that a tick places last. */
async function lastDue(): Promise<string> {
  const [row] = await database.sql<{ id: string }>(
    'SELECT id FROM connections ORDER BY due_at DESC, id DESC LIMIT 1',
  );
  return row?.id as string;
}
const fixedJitter = { jitterPctMin: 0.05, jitterPctMax: 0.05 };

describe('SCH-10: metrics', () => {
  it('SCH-10: metrics have the specified names and labels', async () => {
    await addDueConnection();
    const engine = database.engine({
      scheduler: fixedJitter,
      telemetry: { meterProvider: metrics.meterProvider },
    });
    await engine.tick({ at });
    const text = await scrape();
    expect(text).toContain(
      `sync_scheduler_jobs_scheduled_total{provider_slug="github",tenant_id="${tenant}"} 1`,
    );
    expect(text).toContain('# TYPE sync_scheduler_jobs_scheduled_total counter');
    expect(text).toContain('# TYPE sync_scheduler_jitter_seconds histogram');
    expect(text).toContain('sync_scheduler_jitter_seconds_sum 45');
    expect(text).toContain('# TYPE sync_scheduler_tick_duration_ms histogram');
    expect(text).toContain('sync_scheduler_tick_duration_ms_count 1');
    expect(text).toContain('# TYPE sync_scheduler_backlog_gauge gauge');
    expect(text).toContain('sync_scheduler_backlog_gauge 1');
  });

  it('SCH-10: metrics are recorded on every tick, also one that places nothing', async () => {
    await addDueConnection();
    const engine = database.engine({ telemetry: { meterProvider: metrics.meterProvider } });
    await engine.tick({ at });
    await engine.tick({ at });
    const text = await scrape();
    expect(text).toContain('sync_scheduler_tick_duration_ms_count 2');
    expect(text).toContain('sync_scheduler_backlog_gauge 0');
  });

  it('SCH-10: metrics.tenantLabel false omits the tenant', async () => {
    await addDueConnection();
    const engine = database.engine({
      metrics: { tenantLabel: false },
      telemetry: { meterProvider: metrics.meterProvider },
    });
    await engine.tick({ at });
    expect(await scrape()).toContain('sync_scheduler_jobs_scheduled_total{provider_slug="github"} 1');
  });

  it('SCH-10: a rolled-back job is not counted', async () => {
    await addDueConnection();
    await database.sql(
      `ALTER TABLE connections ADD CONSTRAINT no_jitter CHECK (metadata #> '{sync,last_jitter_seconds}' IS NULL)`,
    );
    try {
      const engine = database.engine({ telemetry: { meterProvider: metrics.meterProvider } });
      await expect(engine.tick({ at })).rejects.toThrow();
      expect(await scrape()).not.toContain('sync_scheduler_jobs_scheduled_total{');
    } finally {
      await database.sql('ALTER TABLE connections DROP CONSTRAINT no_jitter');
    }
  });

  it('SCH-10: connections that a tick could not place count as backlog', async () => {
    for (let i = 0; i < 5; i++) await addDueConnection();
    await database.sql(
      `ALTER TABLE connections ADD CONSTRAINT no_last CHECK (metadata #> '{sync,last_jitter_seconds}' IS NULL OR id <> '${await lastDue()}')`,
    );
    try {
      const scheduler = { batchSize: 2 };
      const engine = database.engine({ scheduler, telemetry: { meterProvider: metrics.meterProvider } });
      await expect(engine.tick({ at })).rejects.toThrow();
      const text = await scrape();
      expect(text).toContain('sync_scheduler_backlog_gauge 5');
      expect(text).toMatch(/sync_scheduler_jobs_scheduled_total\{.*\} [1-4]\n/);
      expect(text).toContain('sync_scheduler_tick_duration_ms_count 1');
    } finally {
      await database.sql('ALTER TABLE connections DROP CONSTRAINT no_last');
    }
  });
});

describe('SCH-10: spans and logs', () => {
  it('SCH-10: each placed job has a span and a log line with all specified fields', async () => {
    const id = await addDueConnection();
    const spans = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
    const { log, lines } = recordingLogger('debug');
    const engine = database.engine({
      logger: log,
      scheduler: fixedJitter,
      telemetry: { tracerProvider, meterProvider: new MeterProvider() },
    });
    await engine.tick({ at });
    const expectedFields = {
      jitter_seconds: 45,
      jitter_pct_min: 0.05,
      jitter_pct_max: 0.05,
      base_interval_seconds: 900,
      next_due_at: '2025-01-01T12:15:00.000Z',
      scheduled_at: '2025-01-01T12:15:45.000Z',
      next_run_at: '2025-01-01T12:30:00.000Z',
      connection_id: id,
      tenant_id: tenant,
      provider_slug: 'github',
    };
    expect(spans.getFinishedSpans().map((span) => span.attributes)).toEqual([
      expect.objectContaining(expectedFields),
    ]);
    expect(lines.filter((line) => line.level === 'debug')).toEqual([expect.objectContaining(expectedFields)]);
  });

  it('SCH-3: an ignored override logs one warning with field, value and range', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 7200 } } });
    const { log, lines } = recordingLogger();
    const engine = database.engine({ logger: log, scheduler: { maxOverriddenIntervalSeconds: 3600 } });
    await engine.tick({ at });
    await engine.tick({ at });
    expect(lines.filter((line) => line.level === 'warn')).toEqual([
      expect.objectContaining({
        connection_id: id,
        invalid: [
          { field: 'interval_seconds', value: '7200', expected: 'a whole number of seconds from 60 to 3600' },
        ],
        msg: expect.stringContaining('metadata validation failed: interval_seconds is 7200'),
      }),
    ]);
  });
});
