import { aheadLimitsOf } from '../config/ahead-limits.ts';
import { readSyncMetadata } from '../schedule/sync-metadata.ts';
import { type Ahead, connectionsAhead, jobsAhead } from '../store/ahead.ts';
import { type FeedSequence, feedSequence, isBehind } from '../store/feed-sequence.ts';
import { expectedShape } from '../store/health/expected.ts';
import { findIndexes } from '../store/health/shape.ts';
import {
  findCrowded,
  findForeignJobs,
  findUnplacedSignals,
  findWronglyBlocked,
  type SampledConnection,
  sampleConnections,
} from '../store/health/work.ts';
import { type Check, error, howMany, named, warning } from './check.ts';

const guards = ['idx_sync_jobs_running', 'idx_sync_jobs_connection_type_status'];

const singleFlight: Check = {
  name: 'one job at a time',
  group: 'work',
  look: async ({ tx }) => {
    const isUnique = (definition: string) => definition.startsWith('CREATE UNIQUE');
    const there = (await findIndexes(tx)).filter(
      ({ name, broken, definition }) => guards.includes(name) && !broken && isUnique(definition),
    );
    if (there.length === guards.length) return { findings: [], detail: 'kept so by unique indexes' };
    const crowded = await findCrowded(tx);
    const lost = expectedShape.indexes.find(
      ({ name }) => guards.includes(name) && !there.some((one) => one.name === name),
    );
    return {
      findings: crowded.map(({ connection_id, what }) =>
        error(
          what === 'running'
            ? `Connection ${connection_id} runs two jobs at once: what they store may be doubled, and one cursor overwrites the other.`
            : `Connection ${connection_id} has two ${what} jobs waiting or running.`,
          `syncline connections cancel ${connection_id}; then create ${lost?.name ?? 'the unique indexes'} again`,
        ),
      ),
    };
  },
};

const blocked: Check = {
  name: 'flags: blocked',
  group: 'work',
  look: async ({ tx }) => {
    const ids = await findWronglyBlocked(tx);
    if (ids.length === 0) return { findings: [] };
    return {
      findings: [
        error(
          `Jobs of ${howMany(ids.length, 'connection')} are marked as blocked though nothing is in their way, so that nobody claims them: ${named(ids)}. Somebody ended a job with triggers switched off.`,
          `SELECT unblock_siblings(ARRAY[${ids
            .slice(0, 100)
            .map((id) => `'${id}'`)
            .join(', ')}]::uuid[]);`,
        ),
      ],
    };
  },
};

const owners: Check = {
  name: 'owners of jobs',
  group: 'work',
  look: async ({ tx }) => {
    const ids = await findForeignJobs(tx);
    if (ids.length === 0) return { findings: [] };
    return {
      findings: [
        warning(
          `${howMany(ids.length, 'job has', 'jobs have')} a tenant_id or provider_slug that is not that of the connection: ${named(ids)}. The claim that finds such a job sets both to the connection's before it runs.`,
          'Fix the program that inserts these jobs: tenant_id and provider_slug must be copied from the connection.',
        ),
      ],
    };
  },
};

const looked = ({ connections, isWhole }: Awaited<ReturnType<typeof sampleConnections>>) =>
  isWhole ? 'all connections were looked at' : `a sample of ${connections.length} connections was looked at`;

const waiting: Check = {
  name: 'flags: waits_for_job',
  group: 'work',
  look: async ({ tx }) => {
    const sample = await sampleConnections(tx);
    const ids = sample.connections.filter(({ waits_in_vain }) => waits_in_vain).map(({ id }) => id);
    return {
      detail: looked(sample),
      findings:
        ids.length === 0
          ? []
          : [
              error(
                `${howMany(ids.length, 'connection waits', 'connections wait', Number.POSITIVE_INFINITY)} for a job that is not there, so that no scheduler places them: ${named(ids, Number.POSITIVE_INFINITY)}.`,
                `UPDATE connections SET waits_for_job = false WHERE id IN (${ids
                  .slice(0, 100)
                  .map((id) => `'${id}'`)
                  .join(', ')});`,
              ),
            ],
    };
  },
};

const metadata: Check = {
  name: 'metadata.sync',
  group: 'work',
  look: async ({ tx, config }) => {
    const sample = await sampleConnections(tx);
    const wrong = sample.connections.flatMap((connection) => {
      const fields = wrongFields(connection, config.scheduler);
      return fields.length > 0 ? [`${connection.id} (${fields.join(', ')})`] : [];
    });
    return {
      detail: looked(sample),
      findings:
        wrong.length === 0
          ? []
          : [
              warning(
                `${howMany(wrong.length, 'connection has', 'connections have', Number.POSITIVE_INFINITY)} fields in metadata.sync that count as absent: ${named(wrong, Number.POSITIVE_INFINITY)}.`,
                'They are mended when the connection is next placed. Find out who writes them: `syncline connections show <id>`.',
              ),
            ],
    };
  },
};

/** The names of wrong fields. Not their values: anybody may have written anything there. */
function wrongFields(row: SampledConnection, bounds: Parameters<typeof readSyncMetadata>[1]): string[] {
  const isWrong = (type: string | null) => type !== null && type !== 'null' && type !== 'object';
  if (isWrong(row.metadata_type)) return ['metadata'];
  if (isWrong(row.sync_type)) return ['metadata.sync'];
  return readSyncMetadata(row.fields ?? {}, bounds).invalid.map(({ field }) => field);
}

/** `next_run_at` and job times that no rule of the schedule can have written: those connections and jobs do not run. */
const tooFarAhead: Check = {
  name: 'times too far ahead',
  group: 'work',
  look: async ({ tx, now, config }) => {
    const limits = aheadLimitsOf(config);
    const connections = await connectionsAhead(tx, now, limits);
    const jobs = await jobsAhead(tx, now, limits);
    const why = 'a process with a wrong clock wrote them, or they were placed by a longer interval';
    return {
      findings: [
        ...(connections.count > 0
          ? [
              error(
                `${ahead(connections, 'active connection has', 'active connections have')} a next_run_at further ahead than their interval and jitter allow, ${until(connections)}: ${why}. No scheduler places them.`,
                'syncline schedule repair --dry-run; syncline schedule repair',
              ),
            ]
          : []),
        ...(jobs.count > 0
          ? [
              error(
                `${ahead(jobs, 'queued job has', 'queued jobs have')} a scheduled_at or retry_after further ahead than interval, jitter and the longest backoff allow, ${until(jobs)}: ${why}. No executor claims them.`,
                'syncline schedule repair --dry-run; syncline schedule repair',
              ),
            ]
          : []),
      ],
    };
  },
};

const ahead = ({ count, atLeast }: Ahead, one: string, many: string) =>
  `${atLeast ? 'At least ' : ''}${howMany(count, one, many, Number.POSITIVE_INFINITY)}`;

const until = ({ until: latest, examples }: Ahead) =>
  `${latest ? `up to ${latest.toISOString()} ` : ''}(such as ${examples.join(', ')})`;

const feed: Check = {
  name: 'feed',
  group: 'work',
  look: async ({ tx }) => {
    const { looked: newest, unplaced } = await findUnplacedSignals(tx);
    const sequence = await feedSequence(tx);
    return {
      detail: `the newest ${newest} signals were looked at`,
      findings: [
        ...(isBehind(sequence) ? [sequenceBehind(sequence)] : []),
        ...(unplaced === 0
          ? []
          : [
              error(
                `${unplaced} of the newest ${newest} signals have no place in the feed: no reader of the feed gets them.`,
                `Look at "triggers" (enter_feed, give_position); then: INSERT INTO feed (batch) SELECT DISTINCT s.batch FROM signals s WHERE NOT EXISTS (SELECT FROM feed f WHERE f.batch = s.batch); UPDATE feed SET position = nextval('feed_position') WHERE position IS NULL;`,
              ),
            ]),
      ],
    };
  },
};

const sequenceBehind = ({ highest, lastAssigned }: FeedSequence) =>
  error(
    `The feed sequence is at ${lastAssigned}, behind ${highest}, the highest stored position: the database was restored or copied without its sequences.`,
    'syncline doctor --fix',
  );

export const workChecks: Check[] = [singleFlight, blocked, owners, waiting, metadata, tooFarAhead, feed];
