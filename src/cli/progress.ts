import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { systemPorts } from '../platform/ports.ts';
import type { TelemetryProviders } from '../telemetry/index.ts';
import { count, note } from './output.ts';

export interface Progress {
  /** For the engine whose work is told of. */
  providers: TelemetryProviders;
  stop(): void;
}

/** Often enough to see that it moves, seldom enough to leave the warnings readable. */
const defaultMs = 5000;

/** Tells a person, now and then, how far work has come. */
export function startProgress(everyMs = defaultMs): Progress {
  const counters = readableCounters();
  const over = new AbortController();
  void (async () => {
    for (;;) {
      await systemPorts.sleep(everyMs, over.signal);
      if (over.signal.aborted) return;
      const [jobs, signals] = await counters.read([
        'sync_executor_jobs_finished_total',
        'sync_executor_signals_total',
      ]);
      note(`… ${count(jobs ?? 0, 'job')} run so far, ${count(signals ?? 0, 'new signal')} stored`);
    }
  })();
  return { providers: { meterProvider: counters.meterProvider }, stop: () => over.abort() };
}

/** The engine's own counters, read when asked for rather than served. */
function readableCounters() {
  const reader = new AskedReader();
  return {
    meterProvider: new MeterProvider({ readers: [reader] }),
    async read(names: string[]): Promise<number[]> {
      const { resourceMetrics } = await reader.collect();
      const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return names.map((name) =>
        metrics
          .filter(({ descriptor }) => descriptor.name === name)
          .flatMap(({ dataPoints }) => dataPoints.map(({ value }) => Number(value)))
          .reduce((sum, value) => sum + value, 0),
      );
    },
  };
}

class AskedReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}
