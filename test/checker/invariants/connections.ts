import { isDeepStrictEqual } from 'node:util';
import { always, engineOnly } from '../invariant.ts';
import { asObject, type Connection, isEnded, msOf, syncOf } from '../rows.ts';

export const tenantsAreKeptApart = always(
  'jobs and signals belong to the tenant and provider of their connection',
  (commit, state) =>
    [...commit.jobs, ...commit.signals].flatMap(({ after: row }) => {
      const connection = row && state.connections.get(row.connection_id);
      if (!connection) return [];
      const isSame = row.tenant_id === connection.tenant_id && row.provider_slug === connection.provider_slug;
      return isSame
        ? []
        : [
            {
              connectionId: connection.id,
              detail: `${row.id} has tenant ${row.tenant_id} and provider ${row.provider_slug}`,
            },
          ];
    }),
);

/** SCH-8. Only a tick corrects a time in the future (wrong clock). */
export const lastRunNeverGoesBack = engineOnly('the time of the last run never decreases', (commit) =>
  commit.connections.flatMap(({ before, after }) => {
    if (!before?.last_incremental_ended_at || !after) return [];
    const [wasMs, isMs] = [msOf(before.last_incremental_ended_at), msOf(after.last_incremental_ended_at)];
    const isEnd = commit.jobs.some((job) => job.after?.connection_id === after.id && isEnded(job.after));
    const isCorrected = !isEnd && wasMs > msOf(after.updated_at) && isMs === msOf(after.updated_at);
    if (isMs >= wasMs || isCorrected) return [];
    return [
      {
        connectionId: after.id,
        detail: `from ${before.last_incremental_ended_at} to ${after.last_incremental_ended_at}`,
      },
    ];
  }),
);

/** SCH-8: ended jobs may be deleted. */
export const endsAreRemembered = always(
  'the end of an incremental job is recorded in its connection',
  (commit, state) =>
    commit.jobs.flatMap(({ before, after: job }) => {
      if (!job || isEnded(before) || !isEnded(job) || job.job_type !== 'incremental') return [];
      const connection = state.connections.get(job.connection_id);
      // An infinite or missing end time is not recorded.
      const endedMs = msOf(job.finished_at);
      if (!connection || Number.isNaN(endedMs) || msOf(connection.last_incremental_ended_at) >= endedMs)
        return [];
      return [
        {
          connectionId: connection.id,
          jobId: job.id,
          detail: `it finished ${job.finished_at}; its connection has ${connection.last_incremental_ended_at}`,
        },
      ];
    }),
);

const owned = ['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds', 'cursor'];

function foreignKeys(connection: Connection): Record<string, unknown> {
  const { sync: _, ...outer } = asObject(connection.metadata) ?? {};
  const inner = Object.entries(syncOf(connection)).filter(([key]) => !owned.includes(key));
  return { ...outer, ...Object.fromEntries(inner.map(([key, value]) => [`sync.${key}`, value])) };
}

/** DB-2. */
export const foreignKeysSurvive = engineOnly(
  'metadata keys that the engine does not own are preserved',
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

/** Such a connection would never be scheduled again. */
export const waitsForAJobThatIsThere = always(
  'no connection waits for a job that does not exist',
  (commit, state) => {
    const touched = [...commit.jobs, ...commit.connections].flatMap(
      ({ before, after }) => before ?? after ?? [],
    );
    const ids = new Set(touched.map((row) => ('connection_id' in row ? row.connection_id : row.id)));
    return [...ids].flatMap((connectionId) => {
      const isWaiting = state.connections.get(connectionId)?.waits_for_job;
      const hasJob = state.pendingOf(connectionId).some((job) => job.job_type === 'incremental');
      return isWaiting && !hasJob
        ? [{ connectionId, detail: 'waits_for_job is set without a pending incremental job' }]
        : [];
    });
  },
);
