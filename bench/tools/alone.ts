import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { type Bench, onBench, postgresSettings } from './bench.ts';
import { progress } from './report.ts';

const folder = new URL('../results/', import.meta.url);

/** Runs one measurement alone: prints its table, and keeps what was measured with what it was measured on. */
export function measureAlone<Result extends object>(
  name: string,
  measure: (bench: Bench) => Promise<Result>,
  show: (result: Result) => string,
  moreSettings: Record<string, string> = {},
): Promise<void> {
  const settings = { ...postgresSettings, ...moreSettings };
  return onBench(async (bench) => {
    const startedMs = performance.now();
    const result = await measure(bench);
    const minutes = Math.round((performance.now() - startedMs) / 6000) / 10;
    const { rows } = await bench.client.query<{ version: string; fsync: string }>(
      `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync`,
    );
    const measuredOn = {
      node: process.versions.node,
      postgres: rows[0]?.version,
      cores: availableParallelism(),
      cpu: cpus()[0]?.model.trim(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
      settings: { ...settings, fsync: rows[0]?.fsync },
    };
    mkdirSync(folder, { recursive: true });
    const file = new URL(`${name}.json`, folder);
    writeFileSync(file, `${JSON.stringify({ measuredOn, minutes, ...result }, rounded, 1)}\n`);
    progress(`written: ${file.pathname}`);
    return show(result);
  }, settings);
}

/** Thousandths are noise, and thousands of samples would be told with fifteen digits each. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 1000) / 1000 : value;
}
