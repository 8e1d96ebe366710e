import type pg from 'pg';

/** What a statement has cost since Postgres began to count. */
interface Counted {
  calls: number;
  ms: number;
  text: string;
}

export type Counts = Map<string, Counted>;

export interface StatementCost {
  statement: string;
  calls: number;
  meanMs: number;
}

const shownLength = 80;
const shownStatements = 8;

/** Of the database that the client is connected to. */
export async function readCounts(client: pg.Client): Promise<Counts> {
  const { rows } = await client.query<{ id: string; calls: number; ms: number; text: string }>(
    `SELECT queryid::text AS id, sum(calls)::float8 AS calls, sum(total_exec_time)::float8 AS ms, min(query) AS text
     FROM pg_stat_statements WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     GROUP BY queryid`,
  );
  return new Map(rows.map(({ id, ...counted }) => [id, counted]));
}

/** What was run between two readings, the most expensive first. */
function between(before: Counts, after: Counts): Counted[] {
  return [...after]
    .map(([id, { calls, ms, text }]) => {
      const earlier = before.get(id);
      return { text, calls: calls - (earlier?.calls ?? 0), ms: ms - (earlier?.ms ?? 0) };
    })
    .filter(({ calls }) => calls > 0)
    .toSorted((a, b) => b.ms - a.ms);
}

export function costliest(before: Counts, after: Counts): StatementCost[] {
  return between(before, after)
    .slice(0, shownStatements)
    .map(({ text, calls, ms }) => ({
      statement: text.replaceAll(/\s+/g, ' ').trim().slice(0, shownLength),
      calls,
      meanMs: ms / calls,
    }));
}

/** The statement that finds and locks what is to run next: it alone looks for jobs by their time and skips locked ones. */
const isClaim = (text: string) =>
  /SKIP LOCKED/i.test(text) && /sync_jobs/.test(text) && /scheduled_at BETWEEN/.test(text);

export function claimCost(before: Counts, after: Counts): { calls: number; meanMs: number } {
  const claims = between(before, after).filter(({ text }) => isClaim(text));
  const calls = claims.reduce((sum, one) => sum + one.calls, 0);
  if (calls === 0) throw new Error('No statement was recognised as a claim.');
  return { calls, meanMs: claims.reduce((sum, one) => sum + one.ms, 0) / calls };
}
