import type { EventEmitter } from 'node:events';
import pg from 'pg';

interface ClientInternals extends EventEmitter {
  connection: EventEmitter & { connect(): void; parsedStatements: Record<string, string> };
  processID: number | null;
  secretKey: number | null;
  _queryable: boolean;
  _ending: boolean;
  _ended: boolean;
}

type IdleSession = Pick<ClientInternals, 'connection' | 'processID' | 'secretKey'>;

const { connect, query } = pg.Client.prototype as unknown as {
  connect(callback: (error?: Error) => void): void;
  query(config: string | { text: string; values: unknown[] }): Promise<unknown>;
};
const internalsOf = (client: pg.Client) => client as unknown as ClientInternals;
const idleSessions: IdleSession[] = [];
let useCount = 0;

const resetSession = `ROLLBACK; CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; DEALLOCATE ALL; UNLISTEN *;
  SELECT pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES`;

export const sessionUseSetting = 'syncline_simulation.turn';

/** Reuses an idle session, if there is one. Most of the cost of a session is its start. */
export async function takeIdleSession(client: pg.Client, name: string): Promise<boolean> {
  const idle = idleSessions.pop();
  if (!idle) return false;
  const { connection, processID, secretKey } = idle;
  connection.removeAllListeners();
  connection.connect = () => {};
  internalsOf(client).connection = connection;
  await new Promise<void>((resolve, reject) => {
    connect.call(client, (error) => (error ? reject(error) : resolve()));
    connection.emit('backendKeyData', { processID, secretKey });
    connection.emit('readyForQuery', { status: 'I' });
  });
  await query.call(client, {
    text: `SELECT set_config('application_name', $1, false), set_config('${sessionUseSetting}', $2, false)`,
    values: [name, String(++useCount)],
  });
  return true;
}

export function canReuse(client: pg.Client): boolean {
  const { _queryable, _ending, _ended } = internalsOf(client);
  return _queryable && !_ending && !_ended;
}

/** Ends the client and keeps its socket and backend for reuse. */
export async function returnSession(client: pg.Client): Promise<void> {
  const internals = internalsOf(client);
  const { connection, processID, secretKey } = internals;
  const reset = query.call(client, resetSession);
  internals._ending = true;
  await reset;
  connection.removeAllListeners();
  connection.parsedStatements = {};
  internals._ended = true;
  const idle = { connection, processID, secretKey };
  connection.on('error', () => {});
  connection.on('end', () => idleSessions.splice(idleSessions.indexOf(idle), 1));
  idleSessions.push(idle);
  internals.emit('end');
}
