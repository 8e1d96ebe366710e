import pg from 'pg';
import { type Limits, unlimited, withoutLimits } from './limits.ts';
import { canReuse, returnSession, takeIdleSession } from './session-pool.ts';
import { kindOf } from './statements.ts';

/** A database session of a simulated engine, as seen from its socket. */
export interface Session {
  readonly client: pg.Client;
  /** The `application_name` of its URL. */
  readonly owner: string;
  busy: 'connecting' | 'statement' | 'ending' | undefined;
  /** Its statement waits for a lock, as of the last check. */
  waits: boolean;
  isClosed: boolean;
  /** Resolves when the session has ended. */
  ending: Promise<void> | undefined;
  /** Statements of the open transaction. */
  transaction: string[];
  sentMs: number;
  idleSinceMs: number;
  /** Sequence number of its last statement among all sessions. */
  sentCount: number;
  limits: Limits;
  listens: boolean;
  /** SQLSTATE with which the cancelled statement fails. */
  cancelCode: string | undefined;
  /** The first statement of the engine on this session, once sent. */
  opening: Promise<unknown> | undefined;
}

export interface StatementEnd {
  session: Session;
  kind: string;
  before: readonly string[];
  rows: readonly object[];
  error: unknown;
}

export interface Wire {
  sessions(): Session[];
  /** Incremented by every event on a socket. */
  activity(): number;
  /** Incremented whenever a lock may have been released. */
  releases(): number;
  /** Resolves at the next event on a socket, or after `maxMs` of real time. */
  nextActivity(maxMs: number): Promise<void>;
  /** Ends an idle session, as if its client had crashed. */
  abandon(session: Session): Promise<void>;
  close(): void;
}

interface WireState {
  now: () => number;
  settings: Readonly<Record<string, string>>;
  onEnd: (end: StatementEnd) => void;
  sessions: Map<pg.Client, Session>;
  activity: number;
  releases: number;
  waiting: Set<() => void>;
  /** Resolves when all requested connections are open. */
  connecting: Promise<void>;
}

let current: WireState | undefined;
let statementsSent = 0;

/** Distinguishes simulated sessions from all others of this process. */
export const ownerPrefix = 'sim-';

/**
 * Tracks every socket of the simulated engines, to detect when all are idle. Removes server timeouts from
 * statements; the simulation enforces them in virtual time.
 */
export function watchWire(
  now: () => number,
  settings: Readonly<Record<string, string>>,
  onEnd: (end: StatementEnd) => void,
): Wire {
  patchOnce();
  const state: WireState = {
    now,
    settings,
    onEnd,
    sessions: new Map(),
    activity: 0,
    releases: 0,
    waiting: new Set(),
    connecting: Promise.resolve(),
  };
  current = state;
  return {
    sessions: () => [...state.sessions.values()].filter((session) => !session.isClosed),
    activity: () => state.activity,
    releases: () => state.releases,
    nextActivity: (maxMs) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          state.waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, maxMs);
        state.waiting.add(done);
      }),
    abandon: (session) => endSession(session, () => session.client.end()),
    close: () => {
      if (current === state) current = undefined;
    },
  };
}

function notifyActivity(): void {
  if (!current) return;
  current.activity++;
  for (const done of current.waiting) done();
}

function markIdle(session: Session): void {
  session.busy = undefined;
  session.waits = false;
  session.idleSinceMs = current?.now() ?? 0;
  notifyActivity();
}

function register(client: pg.Client): Session | undefined {
  const internals = client as unknown as {
    connectionParameters: { application_name?: string; query_timeout: number };
    _connectionTimeoutMillis: number;
  };
  const { application_name: owner } = internals.connectionParameters;
  if (!current || !owner?.startsWith(ownerPrefix)) return undefined;
  // Real time must not influence the simulation.
  internals.connectionParameters.query_timeout = 0;
  internals._connectionTimeoutMillis = 0;
  const session: Session = {
    client,
    owner,
    busy: 'connecting',
    waits: false,
    isClosed: false,
    ending: undefined,
    transaction: [],
    sentMs: 0,
    sentCount: 0,
    idleSinceMs: 0,
    limits: unlimited,
    listens: false,
    cancelCode: undefined,
    opening: undefined,
  };
  current.sessions.set(client, session);
  client.on('end', () => {
    session.isClosed = true;
    session.busy = undefined;
    if (current) current.releases++;
    notifyActivity();
  });
  return session;
}

interface PatchedQuery {
  text: string;
  values?: unknown[];
  query_timeout?: number;
}

interface PoolInternals {
  options: { connectionString?: string; idleTimeoutMillis: number; connectionTimeoutMillis: number };
}

let isPatched = false;

/** Sessions that are not simulated pass through. */
function patchOnce(): void {
  if (isPatched) return;
  isPatched = true;
  type Callback = (error?: unknown) => void;
  const proto = pg.Client.prototype as unknown as {
    connect(callback?: Callback): Promise<unknown> | undefined;
    query(config: string | PatchedQuery, values?: unknown): Promise<{ rows: object[] }>;
    end(callback?: Callback): Promise<void> | undefined;
  };
  const { connect, query, end } = proto;

  // Pools have timeouts too: for waiting callers and for idle connections.
  const pools = pg.Pool.prototype as unknown as { connect(this: PoolInternals, ...rest: unknown[]): unknown };
  const connectPool = pools.connect;
  pools.connect = function (...rest) {
    if (this.options.connectionString?.includes(`application_name=${ownerPrefix}`))
      Object.assign(this.options, { idleTimeoutMillis: 0, connectionTimeoutMillis: 0 });
    return connectPool.apply(this, rest);
  };

  // Connect sequentially: which of two parallel connects finishes first is not deterministic.
  proto.connect = function (callback) {
    const session = register(this as unknown as pg.Client);
    if (!session || !current) return connect.call(this, callback);
    const connected = new Promise<void>((resolve, reject) => {
      const begin = async () => {
        const error = await open(
          session,
          (done) => connect.call(this, done),
          (config) => query.call(this, config),
        );
        markIdle(session);
        if (callback) callback(error);
        else if (error) reject(error);
        else resolve();
        // The next connect also waits for the first statement, sent one event-loop turn later.
        await new Promise<void>((sent) => setImmediate(sent));
        await session.opening?.catch(() => {});
      };
      if (current) current.connecting = current.connecting.then(begin);
    });
    return callback ? undefined : connected;
  };

  proto.query = function (config, values) {
    const session = current?.sessions.get(this as unknown as pg.Client);
    if (!session) return query.call(this, config, values);
    const original: PatchedQuery = typeof config === 'string' ? { text: config } : config;
    const sent = send(session, original, (patched) => query.call(this, patched, values));
    if (kindOf(original.text) === 'open session') session.opening = sent;
    return sent;
  };

  proto.end = function (callback) {
    const session = current?.sessions.get(this as unknown as pg.Client);
    if (!session || session.isClosed) return end.call(this, callback);
    const ended = endSession(session, () => new Promise((resolve) => end.call(this, () => resolve())));
    if (!callback) return ended;
    void ended.then(() => callback());
    return undefined;
  };
}

async function open(
  { client, owner }: Session,
  connect: (done: (error?: unknown) => void) => void,
  query: (config: PatchedQuery) => Promise<unknown>,
): Promise<unknown> {
  try {
    if (!(await takeIdleSession(client, owner)))
      await new Promise<void>((resolve, reject) =>
        connect((error) => (error === undefined || error === null ? resolve() : reject(error))),
      );
    for (const values of Object.entries(current?.settings ?? {}))
      await query({ text: 'SELECT set_config($1, $2, false)', values });
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A second call waits for the first: a session that is being reset must keep its socket. */
function endSession(session: Session, end: () => Promise<void>): Promise<void> {
  session.ending ??= endOnce(session, end);
  return session.ending;
}

async function endOnce(session: Session, end: () => Promise<void>): Promise<void> {
  const isIdle = session.busy === undefined && canReuse(session.client);
  session.busy = 'ending';
  notifyActivity();
  await (isIdle ? returnSession(session.client) : end());
  markIdle(session);
}

async function send(
  session: Session,
  original: PatchedQuery,
  query: (sent: PatchedQuery) => Promise<{ rows: object[] }>,
): Promise<{ rows: object[] }> {
  const kind = kindOf(original.text);
  const { text, limits } = withoutLimits(original.text);
  const { query_timeout: _, ...rest } = original;
  const isListen = text.startsWith('LISTEN');
  if (isListen) session.listens = true;
  if (kind === 'begin') Object.assign(session, { transaction: [], limits });
  const before = [...session.transaction];
  if (kind === 'begin' || session.transaction.length > 0) session.transaction.push(kind);
  Object.assign(session, { busy: 'statement', waits: false, sentMs: current?.now() ?? 0 });
  session.sentCount = ++statementsSent;
  notifyActivity();
  const finish = (rows: readonly object[], error: unknown) => {
    if (kind === 'commit' || kind === 'rollback')
      Object.assign(session, { transaction: [], limits: unlimited });
    if (current && (session.transaction.length === 0 || error !== undefined)) current.releases++;
    markIdle(session);
    current?.onEnd({ session, kind, before, rows, error });
  };
  try {
    // The simulation delivers notifications itself, for determinism.
    const result = await query({ ...rest, text: isListen ? 'SELECT 1' : text });
    finish(Array.isArray(result.rows) ? result.rows : [], undefined);
    return result;
  } catch (error) {
    const failure = session.cancelCode === undefined ? error : postgresError(session.cancelCode);
    session.cancelCode = undefined;
    finish([], failure);
    throw failure;
  }
}

export function postgresError(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError(`simulated: ${code}`, 0, 'error');
  error.code = code;
  return error;
}
