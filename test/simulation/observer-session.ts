import pg from 'pg';
import type { Session } from './wire.ts';

/** A session outside the simulation that inspects the server and terminates other sessions. */
export interface Observer {
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Backends that wait for a lock. `isLong`: past the deadlock check, and not part of a deadlock. */
  lockWaits(): Promise<Map<number, { isLong: boolean }>>;
  /** Locks are released when the sockets close. */
  terminate(sessions: readonly Session[]): Promise<void>;
  /** The cancelled statement fails with this SQLSTATE. */
  cancel(session: Session, code: string): Promise<void>;
  notifications(): Promise<string[]>;
  close(): Promise<void>;
}

/** `deadlock_timeout`: a session that waits longer is not part of a deadlock. */
export const deadlockMs = 3;
const longWait = `interval '${deadlockMs * 3} ms'`;

export async function openObserver(url: string, channel: string): Promise<Observer> {
  // No application_name: the checker treats these writes as foreign.
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  let received: string[] = [];
  client.on('notification', ({ payload }) => void received.push(payload ?? ''));
  await client.connect();
  await client.query('SET search_path TO syncline, public');
  await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
  const sql = async <Row extends object>(text: string, values?: unknown[]) =>
    (await client.query<Row>(text, values)).rows;
  return {
    sql,
    lockWaits: async () => {
      const rows = await sql<{ pid: number; long: boolean | null; blockers: number[] }>(
        `SELECT pid, waitstart < clock_timestamp() - ${longWait} AS long, pg_blocking_pids(pid) AS blockers
         FROM pg_locks WHERE NOT granted`,
      );
      const blockers = new Map(rows.map((row) => [row.pid, row.blockers]));
      return new Map(
        rows.map(({ pid, long }) => [pid, { isLong: long === true && !isDeadlocked(pid, blockers) }]),
      );
    },
    terminate: async (sessions) => {
      await sql('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [sessions.map(pidOf)]);
    },
    cancel: async (session, code) => {
      session.cancelCode = code;
      await sql('SELECT pg_cancel_backend($1)', [pidOf(session)]);
    },
    notifications: async () => {
      await sql('SELECT 1');
      const all = received;
      received = [];
      return all;
    },
    close: () => client.end(),
  };
}

function isDeadlocked(pid: number, blockers: ReadonlyMap<number, number[]>, path: number[] = []): boolean {
  if (path.includes(pid)) return true;
  return (blockers.get(pid) ?? []).some((blocker) => isDeadlocked(blocker, blockers, [...path, pid]));
}

export function pidOf({ client }: Session): number {
  return (client as unknown as { processID: number | null }).processID ?? 0;
}
