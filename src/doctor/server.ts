import {
  findGrowingSlots,
  findHolders,
  findTableCare,
  readServer,
  type ServerRow,
} from '../store/health/server.ts';
import { type Check, error, type Finding, warning } from './check.ts';
import { isSkewed, skewed } from './clocks.ts';
import { describeHolder, maxHeldTransactions, releaseOf } from './holders.ts';

const alterSystem = (name: string, value: string) =>
  `ALTER SYSTEM SET ${name} = ${value}; SELECT pg_reload_conf();`;

/** https://www.postgresql.org/support/versioning/ */
const endsOfLife: Record<number, string> = {
  15: '2027-11-11',
  16: '2028-11-09',
  17: '2029-11-08',
  18: '2030-11-14',
};

const version: Check = {
  name: 'server version',
  group: 'server',
  anySchema: true,
  run: async ({ tx, now }) => {
    const { version, version_number } = await readServer(tx);
    const endOfLife = endsOfLife[Math.floor(version_number / 10_000)];
    const findings: Finding[] = [];
    if (version_number < 150_000)
      findings.push(
        error(`Postgres ${version} is not supported; 15 or newer is required.`, 'Upgrade the server.'),
      );
    else if (endOfLife !== undefined && now > new Date(endOfLife))
      findings.push(
        warning(
          `Postgres ${version} reached its end of life on ${endOfLife}: it receives no security fixes.`,
          'Upgrade the server to a newer major version.',
        ),
      );
    return { detail: `Postgres ${version}`, findings };
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

const oldMs = 10 * 60_000;

const holders: Check = {
  name: 'old transactions',
  group: 'server',
  anySchema: true,
  run: async ({ tx, now }) => {
    const before = new Date(now.getTime() - oldMs);
    const rows = await findHolders(tx, { before, maxTransactions: maxHeldTransactions });
    return { findings: rows.map((row) => warning(describeHolder(row, now), releaseOf(row))) };
  },
};

const slots: Check = {
  name: 'replication slots',
  group: 'server',
  anySchema: true,
  run: async ({ tx }) => ({
    findings: (await findGrowingSlots(tx)).map(({ name, kind, retained_bytes }) =>
      warning(
        `Replication slot "${name}" (${kind}) is inactive and retains ` +
          `${Math.round(retained_bytes / 2 ** 20)} MB of WAL. max_slot_wal_keep_size is -1, so it grows ` +
          'until the disk is full and the server stops.',
        `SELECT pg_drop_replication_slot('${name}'); or ${alterSystem('max_slot_wal_keep_size', "'10GB'")}`,
      ),
    ),
  }),
};

/** Half of the wraparound limit, far above autovacuum's threshold. */
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

export const serverChecks: Check[] = [version, durability, writable, clock, holders, slots, vacuum];
