import { SynclineError } from '../contract/errors.ts';
import type { Vault } from '../credentials/index.ts';
import { countRefused, findSuspects, oldestKept } from '../store/health/work.ts';
import { type SealedEntry, type SealedTable, sampleSealed, sealedTables } from '../store/sealed.ts';
import { failingGroups, refusedGroups } from '../store/stats.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, type Circumstances, error, type Finding, howMany, warning } from './check.ts';

const needsAuth: Check = {
  name: 'connections that need their user',
  group: 'data',
  look: async ({ tx }) => ({
    findings: (await refusedGroups(tx)).map(({ provider_slug, failure, connections }) =>
      warning(
        failure === 'no_credential'
          ? `${howMany(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of "${provider_slug}" ${connections === 1 ? 'waits' : 'wait'} for authorization: no credential has been provided yet.`
          : `${howMany(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of "${provider_slug}" cannot sync until their users authorize them again.`,
        `syncline connections list --provider ${provider_slug} --status needs_auth`,
      ),
    ),
  }),
};

const failing: Check = {
  name: 'connections that fail',
  group: 'data',
  look: async ({ tx, now }) => ({
    findings: (await failingGroups(tx)).map(({ provider_slug, failure, connections, since, example }) =>
      warning(
        `${howMany(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of "${provider_slug}" ${connections === 1 ? 'has' : 'have'} failed (${failure ?? 'for unknown reasons'}) for up to ${formatDuration(now.getTime() - since.getTime())}.`,
        `syncline connections why ${example}`,
      ),
    ),
  }),
};

const suspects: Check = {
  name: 'connections whose processes die',
  group: 'data',
  look: async ({ tx }) => ({
    findings: (await findSuspects(tx)).map(({ provider_slug, connections, example }) =>
      warning(
        `Processes died at least twice in a row while they ran ${howMany(connections, 'connection', 'connections', Number.POSITIVE_INFINITY)} of "${provider_slug}". Each process runs one of them at a time; after five deaths in a row the job fails.`,
        `syncline connections why ${example}; look at what ended the processes (memory limits, crashes of native code).`,
      ),
    ),
  }),
};

/** Enough to find out whether a key is the right one; opening all would take long where there are many. */
const maxOpened = 200;

const credentials: Check = {
  name: 'credentials open',
  group: 'data',
  look: async ({ tx, vault }) => {
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
          `${howMany(refused, 'credential was', 'credentials were', Number.POSITIVE_INFINITY)} refused when it came to renewing them.`,
          '`syncline credentials list` shows which; their users have to connect again.',
        ),
      );
    return { detail: [...opened].map(([table, rows]) => `${rows} of ${table}`).join(', '), findings };
  },
};

/** By the key they need: one that is not configured here says nothing about what is stored. */
function unopened(vault: Vault, table: SealedTable, rows: SealedEntry[]): Finding[] {
  const unknown = new Map<string, number>();
  const spoilt: string[] = [];
  for (const row of rows) {
    try {
      vault.open(`${table}/${row.tenant_id}/${row.name}`, { keyId: row.key_id, sealed: row.sealed });
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      if (thrown.code === 'CONFIG_INVALID') unknown.set(row.key_id, (unknown.get(row.key_id) ?? 0) + 1);
      else spoilt.push(row.key_id);
    }
  }
  return [
    ...[...unknown].map(([keyId, count]) =>
      error(
        `${count} of the last ${rows.length} rows of ${table} are encrypted with key "${keyId}", which is not configured here: what needs them fails.`,
        'Add that key to SYNCLINE_CREDENTIALS_KEYS of every process.',
      ),
    ),
    ...(spoilt.length > 0
      ? [
          error(
            `${spoilt.length} of the last ${rows.length} rows of ${table} do not open with their key ("${[...new Set(spoilt)].join('", "')}"): they were changed or moved outside of Syncline, or there was another key of that id.`,
            'Bring back the right key, or replace what does not open: `syncline credentials list`.',
          ),
        ]
      : []),
  ];
}

/** A janitor comes by every minute; a day is more than it ever needs. */
const dayMs = 24 * 3600 * 1000;

const retention: Check = {
  name: 'what is old is deleted',
  group: 'data',
  look: async (circumstances) => ({ findings: await keptTooLong(circumstances) }),
};

async function keptTooLong({ tx, now, config: { retention: kept } }: Circumstances): Promise<Finding[]> {
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
        `${what} are kept for ${days} days, and the oldest is ${Math.floor(ageMs / dayMs)} days old: no janitor is running, or it does not keep up.`,
        'Start one: `syncline start --roles janitor`.',
      ),
    ];
  });
}

export const dataChecks: Check[] = [needsAuth, failing, suspects, credentials, retention];
