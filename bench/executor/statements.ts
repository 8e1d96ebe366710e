import type pg from 'pg';

/** What Postgres must load before it can count. */
export const countingSettings = { shared_preload_libraries: 'pg_stat_statements' };

export async function prepareCounting(client: pg.Client): Promise<void> {
  await client.query('CREATE EXTENSION pg_stat_statements');
}

/** How many statements Postgres ran meanwhile for all of its clients, BEGIN and COMMIT included. */
export async function countStatements(client: pg.Client, work: () => Promise<unknown>): Promise<number> {
  await client.query('SELECT pg_stat_statements_reset()');
  await work();
  const { rows } = await client.query<{ calls: number }>(
    `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements
     WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'`,
  );
  return rows[0]?.calls ?? 0;
}
