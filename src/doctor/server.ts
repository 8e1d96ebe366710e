import { describeError } from '../contract/errors.ts';
import { findHolders, findTableCare, readServer, type ServerRow } from '../store/health/server.ts';
import { canListen } from '../store/listener.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, error, type Finding, warning } from './check.ts';
import { isSkewed, skewed } from './clocks.ts';

const alterSystem = (name: string, value: string) =>
  `ALTER SYSTEM SET ${name} = ${value}; SELECT pg_reload_conf();`;

const version: Check = {
  name: 'server version',
  group: 'server',
  anySchema: true,
  run: async ({ tx }) => {
    const { version, version_number } = await readServer(tx);
    const isOld = version_number < 150_000;
    return {
      detail: `Postgres ${version}`,
      findings: isOld
        ? [error(`Postgres ${version} is not supported; 15 or newer is required.`, 'Upgrade the server.')]
        : [],
    };
  },
};

/** Whether acknowledged commits survive a crash. */
const durability: Check = {
  name: 'durability',
  group: 'server',
  anySchema: true,
  run: async ({ tx }) => ({ findings: durabilityFindings(await readServer(tx)) }),
};

function durabilityFindings({ fsync, full_page_writes, synchronous_commit }: ServerRow): Finding[] {
  const findings: Finding[] = [];
  if (!fsync)
    findings.push(
      error(
        'fsync is off: a machine crash can corrupt the database beyond repair.',
        alterSystem('fsync', 'on'),
      ),
    );
  if (!full_page_writes)
    findings.push(
      error(
        'full_page_writes is off: a machine crash can leave pages half written.',
        alterSystem('full_page_writes', 'on'),
      ),
    );
  if (synchronous_commit === 'off')
    findings.push(
      error(
        'synchronous_commit is off: a server crash can lose acknowledged commits, including cursors and ' +
          'signals.',
        `${alterSystem('synchronous_commit', 'on')} If it is set for the database or the role: ALTER ` +
          'ROLE … RESET synchronous_commit;',
      ),
    );
  return findings;
}

const writable: Check = {
  name: 'server accepts writes',
  group: 'server',
  anySchema: true,
  run: async ({ tx }) => ({
    findings: (await readServer(tx)).read_only
      ? [
          error(
            'The server is a replica or read-only (default_transaction_read_only): no job can be ' +
              'queued or run.',
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
  run: async ({ clockSkewSeconds }) => ({
    findings: isSkewed(clockSkewSeconds) ? [skewed('This machine', clockSkewSeconds)] : [],
  }),
};

const room: Check = {
  name: 'free database connections',
  group: 'server',
  anySchema: true,
  run: async ({ tx, config }) => {
    const { max_connections, reserved_connections, used_connections } = await readServer(tx);
    const free = max_connections - reserved_connections - used_connections;
    const { poolSize } = config.database;
    // Plus one connection for the heartbeat.
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

const notifyTimeoutMs = 5000;

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
      if (await canListen(database, notifyTimeoutMs)) return { findings: [] };
      return {
        findings: [
          warning(`${name} points to a pooler that does not deliver notifications: ${polls}.`, remedy),
        ],
      };
    } catch (thrown) {
      // The database itself is unreachable.
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
  run: async ({ tx, now }) => {
    const rows = await findHolders(tx, new Date(now.getTime() - oldMs));
    const why =
      'until it ends, vacuum cannot remove newer dead rows, claims and ticks slow down, and feed readers may wait.';
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
          `Replication slot "${name}" (${owner}) is inactive: until it is used or dropped, ` +
            'vacuum cannot remove newer dead rows.',
          `SELECT pg_drop_replication_slot('${name}');`,
        );
      }),
    };
  },
};

/** Half of the wraparound limit, far above the autovacuum threshold. */
const maxFrozenAge = 1_000_000_000;
const minDeadRows = 100_000;

const vacuum: Check = {
  name: 'vacuum',
  group: 'server',
  run: async ({ tx }) => {
    const { autovacuum, track_counts } = await readServer(tx);
    const findings: Finding[] = [];
    if (!autovacuum || !track_counts)
      findings.push(
        error(
          'Autovacuum is off: every sync leaves dead rows, and every claim must skip them.',
          `${alterSystem('autovacuum', 'on')} ${alterSystem('track_counts', 'on')}`,
        ),
      );
    for (const { name, autovacuum_off, live, dead, frozen_age } of await findTableCare(tx)) {
      if (autovacuum_off)
        findings.push(
          error(
            `Autovacuum is off for ${name}: its dead rows are not removed.`,
            `ALTER TABLE ${name} RESET (autovacuum_enabled);`,
          ),
        );
      if (dead > minDeadRows && dead > 2 * live)
        findings.push(
          warning(
            `${name} has about ${Math.round(dead)} dead rows and ${Math.round(live)} live ones: ` +
              'autovacuum does not keep up, or an old transaction holds it back.',
            `End old transactions, then VACUUM ${name};`,
          ),
        );
      if (frozen_age > maxFrozenAge)
        findings.push(
          error(
            `The oldest transaction ID in ${name} is ${Math.round(frozen_age)} transactions old; ` +
              'near 2,000,000,000 the ' +
              'server stops accepting writes.',
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
