import type { Sample } from '../../../bench/soak/sample.ts';
import type { ProcessReport } from '../../../bench/soak/worker.ts';

/** Minutes of a load that is level but for what every machine does. */
export function samplesOf(minutes: number): Sample[] {
  return Array.from({ length: minutes }, (_, i) => sampleOf(i + 1));
}

function sampleOf(minute: number): Sample {
  // The same each time, and not regular.
  const noise = ((minute * 7919) % 101) / 101;
  const process: ProcessReport = {
    pid: 1,
    rssMb: 200 + 10 * noise,
    heapMb: 50 + noise,
    eventLoopMs: { p99: 5, most: 40 },
    cores: 0.5,
    calls: 30_000,
    failures: 150,
    log: { errors: 0, warnings: 0, examples: [] },
  };
  return {
    minute,
    syncsPerSecond: 995 + 10 * noise,
    lagMs: { p50: 20, p99: 100 + 50 * noise, most: 400 },
    undisturbedLagMs: { p50: 20, p99: 60, most: 100 },
    waiting: 3,
    tables: {
      sync_jobs: { mb: 400 + 5 * noise, indexMb: 200, deadRows: 1000 },
      rollups: { mb: minute, indexMb: 1, deadRows: 0 },
    },
    walBytesPerSync: 2500,
    databaseConnections: 20,
    keptSeconds: { jobs: 1830, signals: 1840 },
    processes: [process, { ...process, pid: 2 }],
    violations: [],
    checksMs: 500,
  };
}
