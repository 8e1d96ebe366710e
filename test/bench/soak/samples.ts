import type { ProcessReport } from '../../../bench/soak/processes.ts';
import type { Sample } from '../../../bench/soak/sample.ts';

/** Minutes of a constant load with noise. */
export function samplesOf(minutes: number): Sample[] {
  return Array.from({ length: minutes }, (_, i) => sampleOf(i + 1));
}

function sampleOf(minute: number): Sample {
  // Deterministic and irregular.
  const noise = ((minute * 7919) % 101) / 101;
  const process: ProcessReport = {
    rssMb: 200 + 10 * noise,
    heapMb: 50 + noise,
    eventLoopMs: { p99: 5 },
    cores: 0.5,
    calls: 30_000,
    log: { errors: 0, warnings: 0, examples: [] },
  };
  return {
    minute,
    syncsPerSecond: 995 + 10 * noise,
    lagMs: { p50: 20, p99: 100 + 50 * noise, max: 400 },
    undisturbedLagMs: { p50: 20, p99: 60, max: 100 },
    tables: {
      sync_jobs: { mb: 400 + 5 * noise, deadRows: 1000 },
      rollups: { mb: minute, deadRows: 0 },
    },
    walBytesPerSync: 2500,
    databaseConnections: 20,
    oldestSeconds: { jobs: 1830, signals: 1840 },
    processes: [process, process],
    violations: [],
    checksMs: 500,
  };
}
