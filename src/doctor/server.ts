import { describeError } from '../contract/errors.ts';
import { findHolders, findTableCare, readServer, type ServerRow } from '../store/health/server.ts';
import { canListen } from '../store/listener.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, error, type Finding, warning } from './check.ts';
import { isSkewed, skewed } from './clocks.ts';

const set = (name: string, value: string) => `ALTER SYSTEM SET ${name} = ${value}; SELECT pg_reload_conf();`;

const version: Check = {
  name: 'server version',
  group: 'server',
  anySchema: true,
  look: async ({ tx }) => {
    const { version, version_number } = await readServer(tx);
    const isOld = version_number < 150_000;
    return {
      detail: `Postgres ${version}`,
      findings: isOld
        ? [
            error(
              `Postgres ${version} is older than 15, the oldest that is supported.`,
              'Upgrade the server.',
            ),
          ]
        : [],
    };
  },
};

/** What a commit is worth. */
const durability: Check = {
  name: 'durability',
  group: 'server',
  anySchema: true,
  look: async ({ tx }) => ({ findings: durabilityFindings(await readServer(tx)) }),
};

function durabilityFindings({ fsync, full_page_writes, synchronous_commit }: ServerRow): Finding[] {
  const findings: Finding[] = [];
  if (!fsync)
    findings.push(
      error(
        'fsync is off: a crash of the machine can leave the database damaged beyond repair.',
        set('fsync', 'on'),
      ),
    );
  if (!full_page_writes)
    findings.push(
      error(
        'full_page_writes is off: a crash of the machine can leave pages half written.',
        set('full_page_writes', 'on'),
      ),
    );
  if (synchronous_commit === 'off')
    findings.push(
      error(
        'synchronous_commit is off: what was acknowledged, cursors and signals among it, can be undone by a crash of the server.',
        `${set('synchronous_commit', 'on')} If it is set for the database or the role: ALTER ROLE … RESET synchronous_commit;`,
      ),
    );
  return findings;
}

const writable: Check = {
  name: 'server takes writes',
  group: 'server',
  anySchema: true,
  look: async ({ tx }) => ({
    findings: (await readServer(tx)).read_only
      ? [
          error(
            'The server is a replica, or refuses writes (default_transaction_read_only): nothing can be placed, run or stored.',
            'Point SYNCLINE_DATABASE_URL to the primary.',
          ),
        ]
      : [],
  }),
};

const clock: Check = {
  name: 'clock',
  group: 'server',
  anySchema: true,
  look: async ({ clockSkewSeconds }) => ({
    findings: isSkewed(clockSkewSeconds) ? [skewed('This machine', clockSkewSeconds)] : [],
  }),
};

const room: Check = {
  name: 'room for connections',
  group: 'server',
  anySchema: true,
  look: async ({ tx, config }) => {
    const { max_connections, reserved_connections, used_connections } = await readServer(tx);
    const free = max_connections - reserved_connections - used_connections;
    const { poolSize } = config.database;
    // One of its own for the heartbeat.
    const isTight = free < poolSize + 1;
    return {
      detail: `${used_connections} of ${max_connections} used`,
      findings: isTight
        ? [
            warning(
              `${Math.max(0, free)} connections are free, and one more process may take ${poolSize + 1}: it would be refused.`,
              'Raise max_connections, lower SYNCLINE_DATABASE_POOL_SIZE, or run fewer processes.',
            ),
          ]
        : [],
    };
  },
};

const notifyTimeoutMs = 5000;

/** Without them, executors find jobs by polling. */
const notifications: Check = {
  name: 'notifications',
  group: 'server',
  anySchema: true,
  look: async ({ config: { database } }) => {
    const name = database.notifyUrl === undefined ? 'SYNCLINE_DATABASE_URL' : 'SYNCLINE_DATABASE_NOTIFY_URL';
    const polls = 'executors poll every 500 ms instead, and runs that are cancelled end up to 5 s later';
    const remedy = 'Set SYNCLINE_DATABASE_NOTIFY_URL to a URL of the same database without a pooler.';
    try {
      if (await canListen(database, notifyTimeoutMs)) return { findings: [] };
      return {
        findings: [
          warning(`${name} leads to a pooler, through which no notifications arrive: ${polls}.`, remedy),
        ],
      };
    } catch (thrown) {
      // Without the database itself there is nothing to look at; the others say so.
      if (database.notifyUrl === undefined) throw thrown;
      return {
        findings: [warning(`${name} cannot be used (${describeError(thrown)}): ${polls}.`, remedy)],
      };
    }
  },
};

const oldMs = 10 * 60_000;

const holders: Check = {
  name: 'old transactions',
  group: 'server',
  anySchema: true,
  look: async ({ tx, now }) => {
    const rows = await findHolders(tx, new Date(now.getTime() - oldMs));
    const why =
      'until it ends, no dead row is forgotten, claims and ticks grow slower, and readers of the feed may have to wait.';
    return {
      findings: rows.map(({ kind, name, owner, since }) => {
        const age = since ? ` for ${formatDuration(now.getTime() - since.getTime())}` : '';
        if (kind === 'session')
          return warning(
            `Session ${name} (${owner}) has been in a transaction${age}: ${why}`,
            `SELECT pg_terminate_backend(${name});`,
          );
        if (kind === 'prepared')
          return warning(
            `Prepared transaction "${name}" of ${owner} has waited${age}: ${why}`,
            `COMMIT PREPARED '${name}'; or ROLLBACK PREPARED '${name}';`,
          );
        return warning(
          `Replication slot "${name}" (${owner}) is read by nobody, and keeps old rows: ${why}`,
          `SELECT pg_drop_replication_slot('${name}');`,
        );
      }),
    };
  },
};

/** Far from two thousand million, where the server stops, and far above what autovacuum leaves. */
const oldestFrozen = 1_000_000_000;
const manyDead = 100_000;

const vacuum: Check = {
  name: 'vacuum',
  group: 'server',
  look: async ({ tx }) => {
    const { autovacuum, track_counts } = await readServer(tx);
    const findings: Finding[] = [];
    if (!autovacuum || !track_counts)
      findings.push(
        error(
          'Autovacuum is off: every sync leaves dead rows behind, and every claim has to pass them.',
          `${set('autovacuum', 'on')} ${set('track_counts', 'on')}`,
        ),
      );
    for (const { name, autovacuum_off, live, dead, frozen_age } of await findTableCare(tx)) {
      if (autovacuum_off)
        findings.push(
          error(
            `Autovacuum is off for ${name}: its dead rows stay.`,
            `ALTER TABLE ${name} RESET (autovacuum_enabled);`,
          ),
        );
      if (dead > manyDead && dead > 2 * live)
        findings.push(
          warning(
            `${name} has about ${Math.round(dead)} dead rows and ${Math.round(live)} live ones: autovacuum does not keep up, or is held back.`,
            `End old transactions, then VACUUM ${name};`,
          ),
        );
      if (frozen_age > oldestFrozen)
        findings.push(
          error(
            `${name} was last frozen ${Math.round(frozen_age)} transactions ago; at 2,000,000,000 the server stops.`,
            `VACUUM (FREEZE) ${name};`,
          ),
        );
    }
    return { findings };
  },
};

export const serverChecks: Check[] = [
  version,
  durability,
  writable,
  clock,
  room,
  notifications,
  holders,
  vacuum,
];
