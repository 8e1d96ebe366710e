import { aheadLimitsOf } from '../config/ahead-limits.ts';
import { readSyncMetadata } from '../schedule/sync-metadata.ts';
import { readTimetable } from '../schedule/timetable.ts';
import { type Ahead, connectionsAhead, jobsAhead } from '../store/ahead.ts';
import { type FeedSequence, feedSequence, isBehind } from '../store/feed-sequence.ts';
import { expectedShape } from '../store/health/expected.ts';
import { findIndexes } from '../store/health/shape.ts';
import {
  findDuplicatePending,
  findForeignJobs,
  findUnplacedSignals,
  findWronglyBlocked,
  type SampledConnection,
  sampleConnections,
} from '../store/health/work.ts';
import { type Check, error, formatCount, formatList, idList, warning } from './check.ts';
import { lookupCheck } from './lookup.ts';

const guards = ['idx_sync_jobs_running', 'idx_sync_jobs_connection_type_status'];

const singleFlight: Check = {
  name: 'duplicate jobs',
  group: 'work',
  run: async ({ tx }) => {
    const isUnique = (definition: string) => definition.startsWith('CREATE UNIQUE');
    const present = (await findIndexes(tx)).filter(
      ({ name, broken, definition }) => guards.includes(name) && !broken && isUnique(definition),
    );
    if (present.length === guards.length) return { findings: [], detail: 'enforced by unique indexes' };
    const crowded = await findDuplicatePending(tx);
    const lost = expectedShape.indexes.find(
      ({ name }) => guards.includes(name) && !present.some((index) => index.name === name),
    );
    return {
      findings: crowded.map(({ connection_id, what }) =>
        error(
          what === 'running'
            ? `Connection ${connection_id} runs two jobs in parallel: signals may be stored twice, and ` +
                'one cursor overwrites the other.'
            : `Connection ${connection_id} has two ${what} jobs queued or running.`,
          `syncline jobs list --connection ${connection_id}; syncline jobs cancel <id>; then create ` +
            `${lost?.name ?? 'the unique indexes'} again`,
        ),
      ),
    };
  },
};

const blocked: Check = {
  name: 'flags: blocked',
  group: 'work',
  run: async ({ tx }) => {
    const ids = await findWronglyBlocked(tx);
    if (ids.length === 0) return { findings: [] };
    return {
      findings: [
        error(
          `Jobs of ${formatCount(ids.length, 'connection')} are marked as blocked without a blocking ` +
            `job, so no executor claims them: ${formatList(ids)}. A job was ended with triggers disabled.`,
          `SELECT unblock_siblings(ARRAY[${idList(ids)}]::uuid[]);`,
        ),
      ],
    };
  },
};

const owners: Check = {
  name: 'job ownership',
  group: 'work',
  run: async ({ tx }) => {
    const ids = await findForeignJobs(tx);
    if (ids.length === 0) return { findings: [] };
    return {
      findings: [
        warning(
          `${formatCount(ids.length, 'job has', 'jobs have')} a tenant_id or provider_slug that differs ` +
            `from the connection's: ${formatList(ids)}. A claim sets both to the connection's values ` +
            'before the run.',
          'Fix the program that inserts these jobs: tenant_id and provider_slug must be copied from the ' +
            'connection.',
        ),
      ],
    };
  },
};

const sampleDetail = ({ connections, isWhole }: Awaited<ReturnType<typeof sampleConnections>>) =>
  isWhole ? 'all connections checked' : `a sample of ${connections.length} connections checked`;

/** `remedy` ends before WHERE. */
function sampled(
  name: string,
  isWrong: (connection: SampledConnection) => boolean,
  { one, many, effect, remedy }: { one: string; many: string; effect: string; remedy: string },
): Check {
  return {
    name,
    group: 'work',
    run: async ({ tx }) => {
      const sample = await sampleConnections(tx);
      const ids = sample.connections.filter(isWrong).map(({ id }) => id);
      const finding = () =>
        error(
          `${formatCount(ids.length, one, many, Number.POSITIVE_INFINITY)} ${effect}: ` +
            `${formatList(ids, Number.POSITIVE_INFINITY)}.`,
          `${remedy} WHERE id IN (${idList(ids)});`,
        );
      return { detail: sampleDetail(sample), findings: ids.length === 0 ? [] : [finding()] };
    },
  };
}

const waiting = sampled('flags: waits_for_job', ({ waits_in_vain }) => waits_in_vain, {
  one: 'connection is',
  many: 'connections are',
  effect: 'waiting for a job that does not exist and will not be scheduled',
  remedy: 'UPDATE connections SET waits_for_job = false',
});

const dueAt = sampled('due_at', ({ is_due_at_wrong }) => is_due_at_wrong, {
  one: 'connection has',
  many: 'connections have',
  effect: 'a due_at that differs from metadata.sync.next_run_at and is scheduled by the wrong time',
  // The trigger derives due_at.
  remedy: 'UPDATE connections SET metadata = metadata',
});

const metadata: Check = {
  name: 'metadata.sync',
  group: 'work',
  run: async ({ tx, config }) => {
    const sample = await sampleConnections(tx);
    const invalid = sample.connections.flatMap((connection) => {
      const fields = invalidFields(connection, config.scheduler);
      return fields.length > 0 ? [`${connection.id} (${fields.join(', ')})`] : [];
    });
    return {
      detail: sampleDetail(sample),
      findings:
        invalid.length === 0
          ? []
          : [
              warning(
                `${formatCount(invalid.length, 'connection has', 'connections have', Number.POSITIVE_INFINITY)} ` +
                  `invalid fields in metadata.sync or schedule, which are ignored: ` +
                  `${formatList(invalid, Number.POSITIVE_INFINITY)}.`,
                'The next scheduled run corrects them. Fix the program that writes them; `syncline connections ' +
                  'show <id>` shows the values.',
              ),
            ],
    };
  },
};

/** Values may hold secrets. */
function invalidFields(row: SampledConnection, bounds: Parameters<typeof readSyncMetadata>[1]): string[] {
  const isInvalid = (type: string | null) => type !== null && type !== 'null' && type !== 'object';
  const schedule = readTimetable(row.schedule).invalid ? ['schedule'] : [];
  if (isInvalid(row.metadata_type)) return ['metadata', ...schedule];
  if (isInvalid(row.sync_type)) return ['metadata.sync', ...schedule];
  const fields = readSyncMetadata(row.fields ?? {}, bounds).invalid.map(({ field }) => field);
  return [...fields, ...schedule];
}

/** Such connections and jobs do not run. */
const tooFarAhead: Check = {
  name: 'times too far ahead',
  group: 'work',
  run: async ({ tx, now, config }) => {
    const limits = aheadLimitsOf(config);
    const connections = await connectionsAhead(tx, now, limits);
    const jobs = await jobsAhead(tx, now, limits);
    const why =
      'the database clock was wrong, another program wrote them, or they were queued with a longer interval';
    return {
      findings: [
        ...(connections.count > 0
          ? [
              error(
                `${countAhead(connections, 'active connection has', 'active connections have')} a ` +
                  `next_run_at further ahead than their interval and jitter allow, ${until(connections)}: ` +
                  `${why}. They are not scheduled.`,
                'syncline schedule repair --dry-run; syncline schedule repair',
              ),
            ]
          : []),
        ...(jobs.count > 0
          ? [
              error(
                `${countAhead(jobs, 'queued job has', 'queued jobs have')} a scheduled_at or retry_after ` +
                  `further ahead than interval, jitter and the longest backoff allow, ${until(jobs)}: ` +
                  `${why}. No executor claims them.`,
                'syncline schedule repair --dry-run; syncline schedule repair',
              ),
            ]
          : []),
      ],
    };
  },
};

const countAhead = ({ count, atLeast }: Ahead, singular: string, plural: string) =>
  `${atLeast ? 'At least ' : ''}${formatCount(count, singular, plural, Number.POSITIVE_INFINITY)}`;

const until = ({ until: latest, examples }: Ahead) =>
  `${latest ? `up to ${latest.toISOString()} ` : ''}(such as ${examples.join(', ')})`;

const feed: Check = {
  name: 'feed',
  group: 'work',
  run: async ({ tx }) => {
    const { looked: newest, unplaced } = await findUnplacedSignals(tx);
    const sequence = await feedSequence(tx);
    return {
      detail: `newest ${newest} signals checked`,
      findings: [
        ...(isBehind(sequence) ? [sequenceBehind(sequence)] : []),
        ...(unplaced === 0
          ? []
          : [
              error(
                `${unplaced} of the newest ${newest} signals have no position in the feed: no feed ` +
                  'reader receives them.',
                'See "triggers" (enter_feed, give_position); then: INSERT INTO feed (batch) ' +
                  'SELECT DISTINCT s.batch FROM signals s ' +
                  'WHERE NOT EXISTS (SELECT FROM feed f WHERE f.batch = s.batch); ' +
                  "UPDATE feed SET position = nextval('feed_position') WHERE position IS NULL;",
              ),
            ]),
      ],
    };
  },
};

const sequenceBehind = ({ highest, lastAssigned }: FeedSequence) =>
  error(
    `The feed sequence is at ${lastAssigned}, behind ${highest}, the highest stored position: the ` +
      'database was restored or copied without its sequences.',
    'syncline doctor --fix',
  );

export const workChecks: Check[] = [
  singleFlight,
  blocked,
  owners,
  waiting,
  dueAt,
  lookupCheck,
  metadata,
  tooFarAhead,
  feed,
];
