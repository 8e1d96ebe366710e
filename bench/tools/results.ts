import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import type pg from 'pg';
import { postgresSettings } from './bench.ts';

/** What the figures were measured on. */
export interface MeasuredOn {
  node: string;
  postgres: string;
  cores: number;
  cpu: string;
  memoryGb: number;
  /** Of the minute before: well above 0 means that others used the machine too, and that the figures say little. */
  loadBefore: number;
  settings: Record<string, string>;
  peers: Record<string, string>;
}

const at = (path: string) => new URL(`../${path}`, import.meta.url);

export async function measuredOn(client: pg.Client): Promise<MeasuredOn> {
  const { rows } = await client.query<{ version: string; fsync: string; commit: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS commit`,
  );
  const { version = '', fsync = '', commit = '' } = rows[0] ?? {};
  const { dependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const { node: _node, ...peers } = dependencies;
  return {
    node: process.versions.node,
    postgres: version,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? '',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    settings: { ...postgresSettings, fsync, synchronous_commit: commit },
    peers,
  };
}

/** What every file of results says, besides what was measured. */
export interface Measured {
  measuredOn: MeasuredOn;
  /** What it took; of `growth`, what happened in each. */
  minutes: unknown;
}

/** Replaces what was measured before. */
export function writeResult(name: string, measuredOn: MeasuredOn, minutes: number, result: object): void {
  const written: Measured = { measuredOn, minutes, ...result };
  mkdirSync(at('results'), { recursive: true });
  writeFileSync(at(`results/${name}.json`), `${JSON.stringify(written, rounded, 1)}\n`);
}

/** Thousandths are noise, and thousands of samples would be told with fifteen digits each. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 1000) / 1000 : value;
}

/** Undefined if it has not been measured. */
export function readResult<Result extends object>(name: string): (Measured & Result) | undefined {
  const file = at(`results/${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
