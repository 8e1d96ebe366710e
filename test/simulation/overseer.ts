import pg from 'pg';
import type { Session } from './wire.ts';

/** A session beside the simulation, which looks at the server and ends other sessions. */
export interface Overseer {
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  /**
   * The server processes that wait for a lock that somebody holds; `isLong`: not since just now, and not for a circle of processes
   * that wait for each other, which the server breaks when it comes to it.
   */
  waiting(): Promise<Map<number, { isLong: boolean }>>;
  /** Has the server end these; when their sockets close, it has let go of all that they held. */
  terminate(sessions: readonly Session[]): Promise<void>;
  /** Cancels its statement, which then is refused with this SQLSTATE. */
  refuse(session: Session, code: string): Promise<void>;
  /** What was said on the channel since the last call: everything of transactions that had ended by then. */
  heard(): Promise<string[]>;
  close(): Promise<void>;
}

/** A circle of waiting sessions is found by the server after `deadlock_timeout`; whoever waits longer is in none. */
export const deadlockMs = 3;
const longWait = `interval '${deadlockMs * 3} ms'`;

export async function openOverseer(url: string, channel: string): Promise<Overseer> {
  // Without a name, as anybody who is not the engine: the checker tells them apart by that.
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  let heard: string[] = [];
  client.on('notification', ({ payload }) => void heard.push(payload ?? ''));
  await client.connect();
  await client.query('SET search_path TO syncline, public');
  await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
  const sql = async <Row extends object>(text: string, values?: unknown[]) =>
    (await client.query<Row>(text, values)).rows;
  return {
    sql,
    waiting: async () => {
      const rows = await sql<{ pid: number; long: boolean | null; blockers: number[] }>(
        `SELECT pid, waitstart < clock_timestamp() - ${longWait} AS long, pg_blocking_pids(pid) AS blockers
         FROM pg_locks WHERE NOT granted`,
      );
      const blockers = new Map(rows.map((row) => [row.pid, row.blockers]));
      return new Map(
        rows.map(({ pid, long }) => [pid, { isLong: long === true && !leadsToCircle(pid, blockers) }]),
      );
    },
    terminate: async (sessions) => {
      await sql('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [sessions.map(pidOf)]);
    },
    refuse: async (session, code) => {
      session.refusal = code;
      await sql('SELECT pg_cancel_backend($1)', [pidOf(session)]);
    },
    heard: async () => {
      await sql('SELECT 1');
      const all = heard;
      heard = [];
      return all;
    },
    close: () => client.end(),
  };
}

/** Whether whoever follows those who wait for each other comes to somebody twice. */
function leadsToCircle(pid: number, blockers: ReadonlyMap<number, number[]>, path: number[] = []): boolean {
  if (path.includes(pid)) return true;
  return (blockers.get(pid) ?? []).some((blocker) => leadsToCircle(blocker, blockers, [...path, pid]));
}

/** The server process behind a session. */
export function pidOf({ client }: Session): number {
  return (client as unknown as { processID: number | null }).processID ?? 0;
}
