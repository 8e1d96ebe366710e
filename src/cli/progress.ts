import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { TelemetryProviders } from '../index.ts';
import { startLoop } from '../platform/loop.ts';
import { systemPorts } from '../platform/ports.ts';
import { count, note } from './output.ts';

export interface Progress {
  providers: TelemetryProviders;
  stop(): void;
}

const defaultIntervalMs = 5000;

/** Job and signal counts, to stderr. */
export function startProgress(intervalMs = defaultIntervalMs): Progress {
  const counters = readableCounters();
  let isStarting = true;
  const report = async () => {
    const [jobs, signals] = await counters.read([
      'sync_executor_jobs_finished_total',
      'sync_executor_signals_total',
    ]);
    note(`… ${count(jobs ?? 0, 'job')} run, ${count(signals ?? 0, 'new signal')} stored`);
  };
  const loop = startLoop({
    ports: systemPorts,
    runOnce: async () => {
      if (!isStarting) await report();
      isStarting = false;
      return intervalMs;
    },
    onFailure: () => {},
  });
  return { providers: { meterProvider: counters.meterProvider }, stop: () => void loop.stop() };
}

function readableCounters() {
  const reader = new ManualReader();
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

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}
