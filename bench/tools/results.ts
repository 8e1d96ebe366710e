import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import type pg from 'pg';
import { postgresSettings } from './postgres.ts';

/** Machine, versions and settings of a measurement. */
export interface Environment {
  node: string;
  postgres: string;
  cores: number;
  cpu: string;
  memoryGb: number;
  /** Load average of the minute before. Well above 0 means that other programs used the machine. */
  loadBefore: number;
  settings: Record<string, string>;
  peers: Record<string, string>;
}

export interface Recorded {
  measuredOn: Environment;
}

const at = (path: string) => new URL(`../${path}`, import.meta.url);

export async function readEnvironment(client: pg.Client): Promise<Environment> {
  const show = async (name: string) => {
    const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [name]);
    return rows[0]?.value ?? '';
  };
  const { dependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const { node: _node, ...peers } = dependencies;
  return {
    node: process.versions.node,
    postgres: await show('server_version'),
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? '',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    settings: {
      ...postgresSettings,
      fsync: await show('fsync'),
      synchronous_commit: await show('synchronous_commit'),
      autovacuum: await show('autovacuum'),
    },
    peers,
  };
}

/** One line: versions, settings and hardware. */
export function describeEnvironment({ node, postgres, cores, cpu, memoryGb, settings }: Environment): string {
  const pairs = Object.entries(settings).map((pair) => pair.join(' '));
  return `Node ${node}, Postgres ${postgres} (${pairs.join(', ')}), ${cores} cores (${cpu}), ${memoryGb} GB of memory`;
}

export function writeResult(name: string, measuredOn: Environment, result: object): void {
  const json = JSON.stringify({ measuredOn, ...result } satisfies Recorded, rounded, 1);
  writeFileSync(at(`results/${name}.json`), `${json}\n`);
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 1000) / 1000 : value;
}

/** Undefined if there is no result file. */
export function readResult<Result extends object>(name: string): (Recorded & Result) | undefined {
  const file = at(`results/${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
