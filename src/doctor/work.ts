import { readSyncMetadata } from '../schedule/sync-metadata.ts';
import { expectedShape } from '../store/health/expected.ts';
import { findIndexes } from '../store/health/shape.ts';
import {
  findCrowded,
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

const feed: Check = {
  name: 'feed',
  group: 'work',
  look: async ({ tx }) => {
    const { looked: newest, unplaced } = await findUnplacedSignals(tx);
    return {
      detail: `the newest ${newest} signals were looked at`,
      findings:
        unplaced === 0
          ? []
          : [
              error(
                `${unplaced} of the newest ${newest} signals have no place in the feed: no reader of the feed gets them.`,
                `Look at "triggers" (enter_feed, give_position); then: INSERT INTO feed (batch) SELECT DISTINCT s.batch FROM signals s WHERE NOT EXISTS (SELECT FROM feed f WHERE f.batch = s.batch); UPDATE feed SET position = nextval('feed_position') WHERE position IS NULL;`,
              ),
            ],
    };
  },
};

export const workChecks: Check[] = [singleFlight, blocked, waiting, metadata, feed];
