import type { Config } from '../config/settings.ts';
import { describeError } from '../contract/errors.ts';
import { readServer } from '../store/health/server.ts';
import { canListen } from '../store/listener.ts';
import { transportOf } from '../store/transport.ts';
import { type Check, type CheckContext, type Finding, formatCount, warning } from './check.ts';
import { liveProcesses } from './live.ts';

const isLocal = (host: string) => /^(localhost|127\.[\d.]+|::1|\/.*)$/i.test(host);

const encryption: Check = {
  name: 'encryption',
  group: 'server',
  anySchema: true,
  run: async ({ config: { database } }) => ({
    findings: [
      ...unprotected('SYNCLINE_DATABASE_URL', database.url),
      ...(database.notifyUrl ? unprotected('SYNCLINE_DATABASE_NOTIFY_URL', database.notifyUrl) : []),
    ],
  }),
};

function unprotected(setting: string, url: string | undefined): Finding[] {
  const { host, tls } = transportOf(url);
  if (tls === 'verified' || isLocal(host)) return [];
  const remedy = `Add sslmode=verify-full to ${setting}, and sslrootcert=<file> if the certificate has a private CA.`;
  const message =
    tls === 'off'
      ? `The connection to ${host} is not encrypted: signals and metadata cross the network in plain text.`
      : `The certificate of ${host} is not verified: another server can pose as the database.`;
  return [warning(message, remedy)];
}

const room: Check = {
  name: 'free database connections',
  group: 'server',
  anySchema: true,
  run: async ({ tx, config }) => {
    const { max_connections, reserved_connections, used_connections } = await readServer(tx);
    const free = max_connections - reserved_connections - used_connections;
    const { poolSize } = config.database;
    // One more for the heartbeat.
    const isTight = free < poolSize + 1;
    return {
      detail: `${used_connections} of ${max_connections} used`,
      findings: isTight
        ? [
            warning(
              `Free connections: ${Math.max(0, free)}. One more process can open up to ${poolSize + 1}; the server ` +
                'would reject some of them.',
              'Raise max_connections, lower SYNCLINE_DATABASE_POOL_SIZE, or run fewer processes.',
            ),
          ]
        : [],
    };
  },
};

const connectTimeoutMs = 5000;

const demand: Check = {
  name: 'connections of all processes',
  group: 'fleet',
  run: async (context) => {
    const { tx, config } = context;
    const { executors, others } = await countLive(context);
    const { poolSize } = config.database;
    const needed = executors * executorConnections(config.database) + others * poolSize;
    const server = await readServer(tx);
    const foreign = server.used_connections - server.own_connections;
    const available = server.max_connections - server.reserved_connections - foreign;
    const detail = `up to ${needed} of ${available}`;
    if (needed <= available || (await isPooled(config.database))) return { detail, findings: [] };
    return {
      detail,
      findings: [
        warning(
          `${formatCount(executors + others, 'process', 'processes', Number.POSITIVE_INFINITY)} with ` +
            `a pool of ${poolSize} can open up to ${needed} connections; the server has ${available} for them. ` +
            'Under load it rejects the rest.',
          'Raise max_connections, lower SYNCLINE_DATABASE_POOL_SIZE, run fewer processes, or use a pooler.',
        ),
      ],
    };
  },
};

/** Pool, heartbeat and a separate LISTEN connection. */
const executorConnections = ({ poolSize, notifyUrl }: Config['database']) =>
  poolSize + (notifyUrl === undefined ? 1 : 2);

/** A process may have both roles. */
async function countLive(context: CheckContext): Promise<{ executors: number; others: number }> {
  const { executors, schedulers } = await liveProcesses(context);
  const keyOf = ({ host, pid }: { host: string | null; pid: number | null }) => `${host}:${pid}`;
  const all = new Set([...executors, ...schedulers].map(keyOf));
  const running = new Set(executors.map(keyOf));
  return { executors: running.size, others: all.size - running.size };
}

/** Then the pooler's limits apply. */
const isPooled = async (database: Config['database']) =>
  !(await canListen({ ...database, notifyUrl: undefined }, connectTimeoutMs));

/** Without LISTEN/NOTIFY, executors poll. */
const notifications: Check = {
  name: 'notifications',
  group: 'server',
  anySchema: true,
  run: async ({ config: { database } }) => {
    const name = database.notifyUrl === undefined ? 'SYNCLINE_DATABASE_URL' : 'SYNCLINE_DATABASE_NOTIFY_URL';
    const polls = 'executors poll every 500 ms instead, and cancelled runs end up to 5 s later';
    const remedy = 'Set SYNCLINE_DATABASE_NOTIFY_URL to a URL of the same database without a pooler.';
    try {
      if (await canListen(database, connectTimeoutMs)) return { findings: [] };
      return {
        findings: [
          warning(`${name} points to a pooler that does not deliver notifications: ${polls}.`, remedy),
        ],
      };
    } catch (thrown) {
      // The database is unreachable.
      if (database.notifyUrl === undefined) throw thrown;
      return {
        findings: [warning(`${name} cannot be used (${describeError(thrown)}): ${polls}.`, remedy)],
      };
    }
  },
};

export const networkChecks: Check[] = [encryption, room, notifications];
export const demandChecks: Check[] = [demand];
