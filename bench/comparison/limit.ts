import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { connectTo } from '../tools/postgres.ts';

const batchSize = 1000;
const procedures = readFileSync(new URL('limit.sql', import.meta.url), 'utf8');
/** The settings of the engine's own transactions. */
const off = ['seqscan', 'bitmapscan', 'mergejoin', 'hashjoin'].map((method) => `-c enable_${method}=off`);
const settings = [...off, '-c jit=off', '-c syncline.triggers=off'].join(' ');

export async function createProcedures(client: pg.Client, schema: string): Promise<void> {
  await client.query(`SET search_path = ${schema}`);
  await client.query(procedures);
  await client.query('RESET search_path');
}

export function connectForProcedures(url: string, schema: string): Promise<pg.Client> {
  return connectTo(url, { options: `-c search_path=${schema} ${settings}` });
}

/** Schedules all due connections. */
export async function schedule(client: pg.Client): Promise<void> {
  await client.query(`CALL limit_schedule(${batchSize})`);
}

/** Runs queued jobs until no unlocked job is left; returns their number. */
export async function work(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ done: number }>(`CALL limit_work(${batchSize}, NULL)`);
  return rows[0]?.done ?? 0;
}
