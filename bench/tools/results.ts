import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import type pg from 'pg';
import { postgresSettings } from './postgres.ts';

export type Environment = Awaited<ReturnType<typeof readEnvironment>>;

export interface Recorded {
  measuredOn: Environment;
}

const at = (path: string) => new URL(`../${path}`, import.meta.url);

export async function readEnvironment(client: pg.Client) {
  const show = async (name: string) => {
    const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [name]);
    return rows[0]?.value ?? '';
  };
  const { node: _, ...peers }: Record<string, string> = JSON.parse(
    readFileSync(at('package.json'), 'utf8'),
  ).dependencies;
  const settings: Record<string, string> = { ...postgresSettings };
  for (const name of ['fsync', 'synchronous_commit', 'autovacuum']) settings[name] = await show(name);
  return {
    node: process.versions.node,
    postgres: await show('server_version'),
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? '',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    /** Well above 0 means that other programs used the machine. */
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    settings,
    peers,
  };
}

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

export function readResult<Result extends Recorded>(name: string): Result {
  return JSON.parse(readFileSync(at(`results/${name}.json`), 'utf8')) as Result;
}
