import type { EventEmitter } from 'node:events';
import pg from 'pg';

/** What a client of the package keeps to itself. */
interface Insides extends EventEmitter {
  connection: EventEmitter & { connect(): void };
  processID: number | null;
  secretKey: number | null;
  _queryable: boolean;
  _ending: boolean;
  _ended: boolean;
}

/** A session of the server that nobody has at the moment. */
type Spare = Pick<Insides, 'connection' | 'processID' | 'secretKey'>;

const { connect, query } = pg.Client.prototype as unknown as {
  connect(callback: (error?: Error) => void): void;
  query(config: string | { text: string; values: unknown[] }): Promise<unknown>;
};
const insidesOf = (client: pg.Client) => client as unknown as Insides;
const spares: Spare[] = [];
let handedOut = 0;

/** Everything that ends with a session: what is open, locked, set, listened to, prepared and planned. */
const endOfSession = `ROLLBACK; CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; DEALLOCATE ALL; UNLISTEN *;
  SELECT pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES`;

/** Tells one use of a session from the next. */
export const turnSetting = 'syncline_simulation.turn';

/**
 * Most of what a session costs is its beginning: to prove who one is, a process of the server, what that has to read before it
 * can plan anything. So whoever wants one gets one that somebody has left, if there is one. Returns whether there was.
 */
export async function takeSpare(client: pg.Client, name: string): Promise<boolean> {
  const spare = spares.pop();
  if (!spare) return false;
  const { connection, processID, secretKey } = spare;
  connection.removeAllListeners();
  // It is connected already; what the client does besides, it does as ever.
  connection.connect = () => {};
  insidesOf(client).connection = connection;
  await new Promise<void>((resolve, reject) => {
    connect.call(client, (error) => (error ? reject(error) : resolve()));
    connection.emit('backendKeyData', { processID, secretKey });
    connection.emit('readyForQuery', { status: 'I' });
  });
  await query.call(client, {
    text: `SELECT set_config('application_name', $1, false), set_config('${turnSetting}', $2, false)`,
    values: [name, String(++handedOut)],
  });
  return true;
}

/** Whether nothing is under way that would have to be ended together with the session. */
export function canLeave(client: pg.Client): boolean {
  const { _queryable, _ending, _ended } = insidesOf(client);
  return _queryable && !_ending && !_ended;
}

/** Ends a session as far as anybody can see; its socket and its process are kept for the next one. */
export async function leaveSpare(client: pg.Client): Promise<void> {
  const insides = insidesOf(client);
  const { connection, processID, secretKey } = insides;
  const ended = query.call(client, endOfSession);
  insides._ending = true;
  await ended;
  connection.removeAllListeners();
  insides._ended = true;
  const spare = { connection, processID, secretKey };
  connection.on('error', () => {});
  connection.on('end', () => spares.splice(spares.indexOf(spare), 1));
  spares.push(spare);
  insides.emit('end');
}
