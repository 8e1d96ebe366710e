import pg from 'pg';
import { type Limits, unlimited, withoutLimits } from './limits.ts';
import { canLeave, leaveSpare, takeSpare } from './spares.ts';
import { kindOf } from './statements.ts';

/** A database session of a simulated engine, as seen from its socket. */
export interface Session {
  readonly client: pg.Client;
  /** Whose it is: what its address says as `application_name`. */
  readonly owner: string;
  /** What is under way on the socket, if anything. */
  busy: 'connecting' | 'statement' | 'ending' | undefined;
  /** Its statement waits for a lock, as far as is known. */
  waits: boolean;
  isOver: boolean;
  /** Resolves when it has ended, once somebody has asked for that. */
  ending: Promise<void> | undefined;
  /** The statements of the transaction that is open, in order; empty outside of one. */
  transaction: string[];
  /** Virtual times: when its statement was sent, and since when nothing is. */
  sentMs: number;
  idleSinceMs: number;
  /** Which one of all statements its last one was. */
  sentCount: number;
  limits: Limits;
  /** Whether it wants to hear notifications. */
  listens: boolean;
  /** How its statement, once it was cancelled, is to be refused. */
  refusal: string | undefined;
  /** The statement with which the engine opens it, once that is sent. */
  opening: Promise<unknown> | undefined;
}

export interface StatementEnd {
  session: Session;
  kind: string;
  /** The statements of its transaction before this one. */
  before: readonly string[];
  rows: readonly object[];
  error: unknown;
}

export interface Wire {
  sessions(): Session[];
  /** Counts up with everything that happens on any socket. */
  moves(): number;
  /** Counts up whenever somebody may have let go of a lock. */
  releases(): number;
  /** Resolves when something has happened on a socket, or after so many real milliseconds. */
  moved(maxMs: number): Promise<void>;
  /** Ends a session on which nothing is under way, as if its client were gone. */
  leave(session: Session): Promise<void>;
  close(): void;
}

interface Watching {
  now: () => number;
  settings: Readonly<Record<string, string>>;
  onEnd: (end: StatementEnd) => void;
  sessions: Map<pg.Client, Session>;
  moves: number;
  releases: number;
  waiting: Set<() => void>;
  /** Ends with the last connection that was asked for. */
  connecting: Promise<void>;
}

let watching: Watching | undefined;
let statementsSent = 0;

/** What simulated sessions are called, so that they are told from all others of this process. */
export const ownerPrefix = 'sim-';

/**
 * Watches every socket of the simulated engines, so that it is known when nothing is under way on any of them. Limits that
 * the server would judge in real time are taken out of statements; whoever simulates judges them in virtual time. Sessions begin
 * with `settings`, as if the role or the database had them.
 */
export function watchWire(
  now: () => number,
  settings: Readonly<Record<string, string>>,
  onEnd: (end: StatementEnd) => void,
): Wire {
  patchOnce();
  const mine: Watching = {
    now,
    settings,
    onEnd,
    sessions: new Map(),
    moves: 0,
    releases: 0,
    waiting: new Set(),
    connecting: Promise.resolve(),
  };
  watching = mine;
  return {
    sessions: () => [...mine.sessions.values()].filter((session) => !session.isOver),
    moves: () => mine.moves,
    releases: () => mine.releases,
    moved: (maxMs) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          mine.waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, maxMs);
        mine.waiting.add(done);
      }),
    leave: (session) => endOf(session, () => session.client.end()),
    close: () => {
      if (watching === mine) watching = undefined;
    },
  };
}

function tellMoved(): void {
  if (!watching) return;
  watching.moves++;
  for (const done of watching.waiting) done();
}

function settled(session: Session): void {
  session.busy = undefined;
  session.waits = false;
  session.idleSinceMs = watching?.now() ?? 0;
  tellMoved();
}

function register(client: pg.Client): Session | undefined {
  const insides = client as unknown as {
    connectionParameters: { application_name?: string; query_timeout: number };
    _connectionTimeoutMillis: number;
  };
  const { application_name: owner } = insides.connectionParameters;
  if (!watching || !owner?.startsWith(ownerPrefix)) return undefined;
  // However slow the machine is: real time decides nothing here.
  insides.connectionParameters.query_timeout = 0;
  insides._connectionTimeoutMillis = 0;
  const session: Session = {
    client,
    owner,
    busy: 'connecting',
    waits: false,
    isOver: false,
    ending: undefined,
    transaction: [],
    sentMs: 0,
    sentCount: 0,
    idleSinceMs: 0,
    limits: unlimited,
    listens: false,
    refusal: undefined,
    opening: undefined,
  };
  watching.sessions.set(client, session);
  client.on('end', () => {
    session.isOver = true;
    session.busy = undefined;
    if (watching) watching.releases++;
    tellMoved();
  });
  return session;
}

interface PatchedQuery {
  text: string;
  values?: unknown[];
  query_timeout?: number;
}

interface PoolInsides {
  options: { connectionString?: string; idleTimeoutMillis: number; connectionTimeoutMillis: number };
}

let isPatched = false;

/** Only sockets of simulated engines are concerned; everything else passes through. */
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

  // Pools keep time, too: how long somebody waits for a connection, and how long one may be idle.
  const pools = pg.Pool.prototype as unknown as { connect(this: PoolInsides, ...rest: unknown[]): unknown };
  const connectPool = pools.connect;
  pools.connect = function (...rest) {
    if (this.options.connectionString?.includes(`application_name=${ownerPrefix}`))
      Object.assign(this.options, { idleTimeoutMillis: 0, connectionTimeoutMillis: 0 });
    return connectPool.apply(this, rest);
  };

  // One after the other, in the order of asking: which of two is ready first would be a matter of chance.
  proto.connect = function (callback) {
    const session = register(this as unknown as pg.Client);
    if (!session || !watching) return connect.call(this, callback);
    const connected = new Promise<void>((resolve, reject) => {
      const begin = async () => {
        const error = await open(
          session,
          (done) => connect.call(this, done),
          (config) => query.call(this, config),
        );
        settled(session);
        if (callback) callback(error);
        else if (error) reject(error);
        else resolve();
        // By then the engine has sent the statement that opens the session; the next one comes after that, too.
        await new Promise<void>((sent) => setImmediate(sent));
        await session.opening?.catch(() => {});
      };
      if (watching) watching.connecting = watching.connecting.then(begin);
    });
    return callback ? undefined : connected;
  };

  proto.query = function (config, values) {
    const session = watching?.sessions.get(this as unknown as pg.Client);
    if (!session) return query.call(this, config, values);
    const given: PatchedQuery = typeof config === 'string' ? { text: config } : config;
    const sent = send(session, given, (one) => query.call(this, one, values));
    if (kindOf(given.text) === 'open session') session.opening = sent;
    return sent;
  };

  proto.end = function (callback) {
    const session = watching?.sessions.get(this as unknown as pg.Client);
    if (!session || session.isOver) return end.call(this, callback);
    const ended = endOf(session, () => new Promise((resolve) => end.call(this, () => resolve())));
    if (!callback) return ended;
    void ended.then(() => callback());
    return undefined;
  };
}

/** Returns what kept it from being opened. */
async function open(
  { client, owner }: Session,
  connect: (done: (error?: unknown) => void) => void,
  query: (config: PatchedQuery) => Promise<unknown>,
): Promise<unknown> {
  try {
    if (!(await takeSpare(client, owner)))
      await new Promise<void>((resolve, reject) =>
        connect((error) => (error === undefined || error === null ? resolve() : reject(error))),
      );
    for (const values of Object.entries(watching?.settings ?? {}))
      await query({ text: 'SELECT set_config($1, $2, false)', values });
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Whoever asks a second time waits for the first: a session that is being reset must not lose its socket. */
function endOf(session: Session, end: () => Promise<void>): Promise<void> {
  session.ending ??= endOnce(session, end);
  return session.ending;
}

async function endOnce(session: Session, end: () => Promise<void>): Promise<void> {
  const isIdle = session.busy === undefined && canLeave(session.client);
  session.busy = 'ending';
  tellMoved();
  await (isIdle ? leaveSpare(session.client) : end());
  settled(session);
}

async function send(
  session: Session,
  given: PatchedQuery,
  query: (sent: PatchedQuery) => Promise<{ rows: object[] }>,
): Promise<{ rows: object[] }> {
  const kind = kindOf(given.text);
  const { text, limits } = withoutLimits(given.text);
  const { query_timeout: _, ...rest } = given;
  const isListen = text.startsWith('LISTEN');
  if (isListen) session.listens = true;
  if (kind === 'begin') Object.assign(session, { transaction: [], limits });
  const before = [...session.transaction];
  if (kind === 'begin' || session.transaction.length > 0) session.transaction.push(kind);
  Object.assign(session, { busy: 'statement', waits: false, sentMs: watching?.now() ?? 0 });
  session.sentCount = ++statementsSent;
  tellMoved();
  const over = (rows: readonly object[], error: unknown) => {
    if (kind === 'commit' || kind === 'rollback')
      Object.assign(session, { transaction: [], limits: unlimited });
    if (watching && (session.transaction.length === 0 || error !== undefined)) watching.releases++;
    settled(session);
    watching?.onEnd({ session, kind, before, rows, error });
  };
  try {
    // Notifications are handed out by whoever simulates: the server's come when they come.
    const result = await query({ ...rest, text: isListen ? 'SELECT 1' : text });
    over(Array.isArray(result.rows) ? result.rows : [], undefined);
    return result;
  } catch (error) {
    const refused = session.refusal === undefined ? error : refusal(session.refusal);
    session.refusal = undefined;
    over([], refused);
    throw refused;
  }
}

/** An error as Postgres words it. */
export function refusal(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError(`simulated: ${code}`, 0, 'error');
  error.code = code;
  return error;
}
