/** Calls the procedures of limit.sql, which do all work inside the database. */
import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { connectTo } from '../tools/postgres.ts';

const batchSize = 1000;
const procedures = readFileSync(new URL('limit.sql', import.meta.url), 'utf8');

/** The planner settings of the engine's own transactions. */
const settings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  enable_hashjoin: 'off',
  jit: 'off',
  'syncline.triggers': 'off',
};

export async function createProcedures(client: pg.Client, schema: string): Promise<void> {
  await client.query(`SET search_path = ${schema}`);
  await client.query(procedures);
  await client.query('RESET search_path');
}

export function connectForProcedures(url: string, schema: string): Promise<pg.Client> {
  const all = Object.entries({ search_path: schema, ...settings });
  return connectTo(url, { options: all.map(([name, value]) => `-c ${name}=${value}`).join(' ') });
}

/** Schedules all due connections. */
export async function schedule(client: pg.Client): Promise<void> {
  await client.query(`CALL limit_schedule(${batchSize}, NULL)`);
}

/** Runs queued jobs until no unlocked job is left; returns their number. */
export async function work(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ done: number }>(`CALL limit_work(${batchSize}, NULL)`);
  return rows[0]?.done ?? 0;
}
