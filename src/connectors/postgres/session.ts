import { createConnection, isIP, type Socket } from 'node:net';
import pg from 'pg';
import {
  type Clock,
  PermanentError,
  type SyncContext,
  TransientError,
  UnauthorizedError,
} from '../../connector-kit/index.ts';
import { addressesOf, type Lookup } from './address.ts';
import { type Bounds, boundAnswers } from './bounds.ts';
import type { TableConfig } from './config.ts';
import { errorOf, isUnreachable } from './errors.ts';

export interface SessionOptions {
  network: 'public' | 'any';
  statementTimeoutMs: number;
  lookup?: Lookup | undefined;
}

export type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

const connectTimeoutMs = 10_000;
const closeTimeoutMs = 1000;

/** SET LOCAL: a pooler may share the session. */
const settings = `BEGIN READ ONLY; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD';
  SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL statement_timeout = `;

export async function inSession<T>(
  context: SyncContext<unknown, TableConfig>,
  options: SessionOptions,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const { abortSignal, clock, connection } = context;
  const login = await loginOf(context);
  const addresses = await addressesOf(connection.config.host, options.network, options.lookup);
  abortSignal.throwIfAborted();
  const { client, address, bounds } = await connectTo(addresses, connection.config, login, {
    ...options,
    clock,
  });
  const cancel = () => void cancelQuery(client, address, connection.config.port, clock);
  abortSignal.addEventListener('abort', cancel, { once: true });
  try {
    abortSignal.throwIfAborted();
    bounds.reset();
    await client.query(`${settings}${options.statementTimeoutMs}`);
    const query: Query = async <Row extends object>(text: string, values?: unknown[]) => {
      abortSignal.throwIfAborted();
      bounds.reset();
      return (await client.query<Row>(text, values)).rows;
    };
    return await work(query);
  } catch (error) {
    abortSignal.throwIfAborted();
    throw error;
  } finally {
    abortSignal.removeEventListener('abort', cancel);
    await closeClient(client, clock);
  }
}

interface Login {
  user: string;
  password: string | undefined;
}

async function loginOf({ credentials, connection }: SyncContext<unknown, TableConfig>): Promise<Login> {
  const fallback = connection.config.user;
  if (credentials.id === undefined) return login(fallback, undefined);
  const credential = await credentials.get();
  if (credential.type === 'basic') return login(credential.username || fallback, credential.password);
  if (credential.type === 'custom') {
    const { user = fallback, password } = credential.fields;
    return login(user, password);
  }
  throw new UnauthorizedError(
    `The credential has type ${credential.type}. A database needs type basic, ` +
      'or custom with user and password.',
  );
}

function login(user: unknown, password: unknown): Login {
  if (typeof user !== 'string' || user === '')
    throw new PermanentError('There is no user: set it in the credential or in config.user.');
  return { user, password: typeof password === 'string' ? password : undefined };
}

function noPassword(): never {
  throw new UnauthorizedError(
    'The database requires a password, but the connection has none: add a credential.',
  );
}

async function connectTo(
  addresses: string[],
  config: TableConfig,
  login: Login,
  { statementTimeoutMs, clock }: SessionOptions & { clock: Clock },
): Promise<{ client: pg.Client; address: string; bounds: Bounds }> {
  let failure: unknown;
  for (const address of addresses) {
    const client = new pg.Client({
      user: login.user,
      // A function: otherwise the driver reads PGPASSWORD and .pgpass.
      password: () => login.password ?? noPassword(),
      host: address,
      port: config.port,
      database: config.database,
      ssl: tlsOf(config),
      application_name: 'syncline',
      connectionTimeoutMillis: connectTimeoutMs,
      // For a server that stops responding; else statement_timeout is first.
      query_timeout: statementTimeoutMs + connectTimeoutMs,
    });
    const bounds = boundAnswers(client);
    // The query rejects too; without a listener, the process exits.
    client.on('error', () => {});
    try {
      await client.connect();
      return { client, address, bounds };
    } catch (error) {
      failure = error;
      await closeClient(client, clock);
      if (!isUnreachable(error)) break;
    }
  }
  const connectorError = errorOf(failure);
  throw connectorError instanceof TransientError
    ? new TransientError(`${config.host}:${config.port} cannot be reached: ${connectorError.message}`, {
        cause: failure,
      })
    : connectorError;
}

/** Verify the host name: the client connects to an address. */
function tlsOf({ ssl, ca, host }: TableConfig): pg.ClientConfig['ssl'] {
  if (ssl === 'off') return false;
  const name = isIP(host) === 0 ? { servername: host } : {};
  return { host, ...name, rejectUnauthorized: ssl === 'verify', ...(ca !== undefined && { ca }) };
}

/** Over a lost network, Terminate never completes: destroy the socket. */
async function closeClient(client: pg.Client, clock: Clock): Promise<void> {
  const over = new AbortController();
  const ended = client.end().then(
    () => over.abort(),
    () => over.abort(),
  );
  await Promise.race([ended, clock.sleep(closeTimeoutMs, over.signal)]);
  over.abort();
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}

/** The server notices a closed socket only at its next write. */
function cancelQuery(client: pg.Client, host: string, port: number, clock: Clock): void {
  const { processID, secretKey } = client as unknown as {
    processID: number | null;
    secretKey: number | null;
  };
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return void closeClient(client, clock);
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(80_877_102, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = createConnection({ host, port, timeout: connectTimeoutMs });
  socket.on('error', () => {});
  socket.on('timeout', () => socket.destroy());
  socket.on('close', () => void closeClient(client, clock));
  socket.end(request);
}
