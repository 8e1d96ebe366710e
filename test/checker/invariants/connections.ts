import { isDeepStrictEqual } from 'node:util';
import { always, ofTheEngine } from '../invariant.ts';
import { asObject, type Connection, isEnded, msOf, syncOf } from '../rows.ts';

export const tenantsAreKeptApart = always(
  'jobs and signals belong to the tenant and provider of their connection',
  (commit, world) =>
    [...commit.jobs, ...commit.signals].flatMap(({ after: row }) => {
      const connection = row && world.connections.get(row.connection_id);
      if (!connection) return [];
      const isSame = row.tenant_id === connection.tenant_id && row.provider_slug === connection.provider_slug;
      return isSame
        ? []
        : [
            {
              connectionId: connection.id,
              detail: `${row.id} is of ${row.tenant_id} at ${row.provider_slug}`,
            },
          ];
    }),
);

/** SCH-8. One that a broken clock put ahead of the tick that meets it is put right, by that tick and not by a run that ends. */
export const lastRunNeverGoesBack = ofTheEngine('the time of the last run never goes back', (commit) =>
  commit.connections.flatMap(({ before, after }) => {
    if (!before?.last_incremental_ended_at || !after) return [];
    const [wasMs, isMs] = [msOf(before.last_incremental_ended_at), msOf(after.last_incremental_ended_at)];
    const isEnd = commit.jobs.some((job) => job.after?.connection_id === after.id && isEnded(job.after));
    const wasPutRight = !isEnd && wasMs > msOf(after.updated_at) && isMs === msOf(after.updated_at);
    if (isMs >= wasMs || wasPutRight) return [];
    return [
      {
        connectionId: after.id,
        detail: `from ${before.last_incremental_ended_at} to ${after.last_incremental_ended_at}`,
      },
    ];
  }),
);

/** SCH-8: so that jobs can be deleted. */
export const endsAreRemembered = always(
  'the end of an incremental job is remembered by its connection',
  (commit, world) =>
    commit.jobs.flatMap(({ before, after: job }) => {
      if (!job || isEnded(before) || !isEnded(job) || job.job_type !== 'incremental') return [];
      const connection = world.connections.get(job.connection_id);
      // Infinity, and an end that nobody noted, are no times to remember.
      const endedMs = msOf(job.finished_at);
      if (!connection || Number.isNaN(endedMs) || msOf(connection.last_incremental_ended_at) >= endedMs)
        return [];
      return [
        {
          connectionId: connection.id,
          jobId: job.id,
          detail: `it finished ${job.finished_at}, and its connection knows of ${connection.last_incremental_ended_at}`,
        },
      ];
    }),
);

const owned = ['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds', 'cursor'];

/** The keys of metadata that are not the engine's, with their values. */
function foreignKeys(connection: Connection): Record<string, unknown> {
  const { sync: _, ...outer } = asObject(connection.metadata) ?? {};
  const inner = Object.entries(syncOf(connection)).filter(([key]) => !owned.includes(key));
  return { ...outer, ...Object.fromEntries(inner.map(([key, value]) => [`sync.${key}`, value])) };
}

/** DB-2. */
export const foreignKeysSurvive = ofTheEngine(
  'keys of metadata that the engine does not own survive',
  (commit) =>
    commit.connections.flatMap(({ before, after }) => {
      if (!before || !after) return [];
      const now = foreignKeys(after);
      const lost = Object.entries(foreignKeys(before)).filter(
        ([key, value]) => !isDeepStrictEqual(now[key], value),
      );
      return lost.length === 0
        ? []
        : [{ connectionId: after.id, detail: `lost or changed: ${lost.map(([key]) => key).join(', ')}` }];
    }),
);

/** Nobody would ever schedule it again. */
export const waitsForAJobThatIsThere = always(
  'no connection waits for a job that is not there',
  (commit, world) => {
    const touched = [...commit.jobs, ...commit.connections].flatMap(
      ({ before, after }) => before ?? after ?? [],
    );
    const ids = new Set(touched.map((row) => ('connection_id' in row ? row.connection_id : row.id)));
    return [...ids].flatMap((connectionId) => {
      const isWaiting = world.connections.get(connectionId)?.waits_for_job;
      const hasJob = world.pendingOf(connectionId).some((job) => job.job_type === 'incremental');
      return isWaiting && !hasJob
        ? [{ connectionId, detail: 'waits_for_job, without an incremental job that is pending' }]
        : [];
    });
  },
);
