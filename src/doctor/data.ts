import { SynclineError } from '../contract/errors.ts';
import type { Vault } from '../credentials/index.ts';
import { countRefused, findSuspects, oldestKept } from '../store/health/work.ts';
import { type SealedEntry, type SealedTable, sampleSealed, sealedTables } from '../store/sealed.ts';
import { failingGroups, refusedGroups } from '../store/stats.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, type CheckContext, error, type Finding, formatCount, warning } from './check.ts';

const needsAuth: Check = {
  name: 'connections that need authorization',
  group: 'data',
  run: async ({ tx }) => ({
    findings: (await refusedGroups(tx)).map(({ provider_slug, failure, connections }) =>
      warning(
        failure === 'no_credential'
          ? `${formatCount(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of ` +
              `"${provider_slug}" ${connections === 1 ? 'waits' : 'wait'} for authorization: no credential ` +
              'has been provided yet.'
          : `${formatCount(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of ` +
              `"${provider_slug}" cannot sync until reauthorized.`,
        `syncline connections list --provider ${provider_slug} --status needs_auth`,
      ),
    ),
  }),
};

const failing: Check = {
  name: 'failing connections',
  group: 'data',
  run: async ({ tx, now }) => ({
    findings: (await failingGroups(tx)).map(({ provider_slug, failure, connections, since, example }) =>
      warning(
        `${formatCount(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of ` +
          `"${provider_slug}" ${connections === 1 ? 'has' : 'have'} been failing ` +
          `(${failure ?? 'for unknown reasons'}) for up to ${formatDuration(now.getTime() - since.getTime())}.`,
        `syncline connections why ${example}`,
      ),
    ),
  }),
};

const suspects: Check = {
  name: 'connections that crash processes',
  group: 'data',
  run: async ({ tx }) => ({
    findings: (await findSuspects(tx)).map(({ provider_slug, connections, example }) =>
      warning(
        'Processes died at least twice in a row while running ' +
          `${formatCount(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of ` +
          `"${provider_slug}". Each process runs one of them at a time; after five deaths in a row the job ` +
          'fails.',
        `syncline connections why ${example}; find out why the processes died (memory limits, native ` +
          'crashes).',
      ),
    ),
  }),
};

/** Enough to detect a wrong key. */
const maxOpened = 200;

const credentials: Check = {
  name: 'credential decryption',
  group: 'data',
  run: async ({ tx, vault }) => {
    const opened = new Map<SealedTable, number>();
    const findings: Finding[] = [];
    for (const table of sealedTables) {
      const rows = await sampleSealed(tx, table, maxOpened);
      opened.set(table, rows.length);
      findings.push(...unopened(vault, table, rows));
    }
    const refused = await countRefused(tx);
    if (refused > 0)
      findings.push(
        warning(
          `${formatCount(refused, 'credential was', 'credentials were', Number.POSITIVE_INFINITY)} ` +
            'refused by the provider on refresh.',
          'See `syncline credentials list`; their users must connect again.',
        ),
      );
    return { detail: [...opened].map(([table, rows]) => `${rows} of ${table}`).join(', '), findings };
  },
};

/** By key: a missing one does not mean damaged data. */
function unopened(vault: Vault, table: SealedTable, rows: SealedEntry[]): Finding[] {
  const unknown = new Map<string, number>();
  const damaged: string[] = [];
  for (const row of rows) {
    try {
      vault.open(`${table}/${row.tenant_id}/${row.name}`, { keyId: row.key_id, sealed: row.sealed });
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      if (thrown.code === 'CONFIG_INVALID') unknown.set(row.key_id, (unknown.get(row.key_id) ?? 0) + 1);
      else damaged.push(row.key_id);
    }
  }
  return [
    ...[...unknown].map(([keyId, count]) =>
      error(
        `Key "${keyId}" is not configured here but encrypts ${count} of the last ${rows.length} rows of ` +
          `${table}: runs that need them fail.`,
        'Add that key to SYNCLINE_CREDENTIALS_KEYS of every process.',
      ),
    ),
    ...(damaged.length > 0
      ? [
          error(
            `${damaged.length} of the last ${rows.length} rows of ${table} cannot be decrypted with their key ` +
              `("${[...new Set(damaged)].join('", "')}"): they were modified or moved outside Syncline, or ` +
              'the id belonged to another key.',
            'Restore the right key, or replace the credentials: `syncline credentials list`.',
          ),
        ]
      : []),
  ];
}

/** Ample: a janitor runs every minute. */
const dayMs = 24 * 3600 * 1000;

const retention: Check = {
  name: 'retention',
  group: 'data',
  run: async (context) => ({ findings: await keptTooLong(context) }),
};

async function keptTooLong({ tx, now, config: { retention: kept } }: CheckContext): Promise<Finding[]> {
  const oldest = await oldestKept(tx);
  const limits = [
    { what: 'Ended jobs', at: oldest.endedJobs, days: kept.endedJobsDays },
    { what: 'Events', at: oldest.events, days: kept.eventsDays },
    { what: 'Signals', at: oldest.signals, days: kept.signalsDays },
  ];
  return limits.flatMap(({ what, at, days }) => {
    const ageMs = at ? now.getTime() - at.getTime() : 0;
    if (days === 0 || ageMs < (days + 1) * dayMs) return [];
    return [
      warning(
        `${what} are kept for ${days} days, and the oldest is ${Math.floor(ageMs / dayMs)} days old: no ` +
          'janitor is running, or it cannot keep up.',
        'Start one: `syncline start --roles janitor`.',
      ),
    ];
  });
}

export const dataChecks: Check[] = [needsAuth, failing, suspects, credentials, retention];
