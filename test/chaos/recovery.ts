import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/until.ts';
import type { ChaosPostgres } from './postgres.ts';
import { leaseSeconds } from './world.ts';

/** How long recoveries took, in milliseconds. */
export interface Recoveries {
  'job of a dead process runs again': number[];
  'Postgres is back, first commit': number[];
}

export interface Recovery {
  took: Recoveries;
  /** Resolves when every executor has a lease. */
  fleetIsThere(): Promise<void>;
  /** While this lasts, and for a moment after, jobs cannot be expected to go on. */
  during<T>(trouble: () => Promise<T>): Promise<T>;
  /**
   * Waits until the database is in no trouble and the fleet is there, and keeps further trouble waiting meanwhile. On a machine
   * that is too busy for that, it happens without.
   */
  calmly<T>(work: (isCalm: boolean) => Promise<T>): Promise<T>;
  /** Follows the jobs that a process held when it was killed. Only what happens calmly is measured; the rest has its bound, too. */
  followDead(processIds: string[], isCalm: boolean): Promise<void>;
  /** Waits for the first run that is stored after Postgres came back. */
  firstCommit(backAt: Date): Promise<void>;
  /** Resolves when everything that is followed has been seen again. */
  followed(): Promise<void>;
}

/** A fifth of the lease: how often processes look for dead ones. */
const sweepMs = leaseSeconds * 200;
const promisedMs: Record<keyof Recoveries, number> = {
  'job of a dead process runs again': leaseSeconds * 1000 + sweepMs + 5000,
  'Postgres is back, first commit': 5000,
};
/** Everybody tries again within four seconds of the database's return. */
const afterTroubleMs = 5000;

export interface RecoveryOptions {
  postgres: ChaosPostgres;
  executors: number;
  /** How many times as long as promised it may take; more where more waits for a core than there are. */
  patience: number;
  onProblem: (what: string) => void;
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { patience, onProblem } = options;
  const { sql } = options.postgres;
  const took: Recoveries = { 'job of a dead process runs again': [], 'Postgres is back, first commit': [] };
  const troubles: { fromMs: number; toMs: number }[] = [];
  const following: Promise<void>[] = [];
  let calm: Promise<unknown> = Promise.resolve();

  function judge(what: keyof Recoveries, ms: number): void {
    const scale = Math.max(patience, (loadavg()[0] ?? 0) / availableParallelism());
    if (ms <= promisedMs[what] * scale) return;
    const promised = `promised within ${promisedMs[what]} ms (times ${scale.toFixed(1)})`;
    onProblem(`${what}: after ${Math.round(ms)} ms, ${promised}`);
  }

  /** How much of that time the database could not be expected to answer. */
  function troubledMs(fromMs: number, toMs: number): number {
    let [sum, countedUntil] = [0, fromMs];
    for (const trouble of troubles) {
      const from = Math.max(trouble.fromMs, countedUntil);
      const to = Math.min(trouble.toMs + afterTroubleMs, toMs);
      if (to <= from) continue;
      sum += to - from;
      countedUntil = to;
    }
    return sum;
  }

  async function follow(processIds: string[], isCalm: boolean): Promise<void> {
    const held = await sql<{ id: string; claim_id: string; at: Date }>(
      `SELECT id, claim_id, clock_timestamp() AS at FROM syncline.sync_jobs WHERE status = 'running' AND process_id = ANY ($1)`,
      [processIds],
    ).catch(() => []);
    let waiting = held;
    await until(
      `the jobs of a dead process run again`,
      async () => {
        const rows = await sql<{ id: string; claim_id: string | null; started_at: Date }>(
          `SELECT id, claim_id, started_at FROM syncline.sync_jobs WHERE id = ANY ($1)`,
          [waiting.map(({ id }) => id)],
        ).catch(() => []);
        const now = new Map(rows.map((row) => [row.id, row]));
        waiting = waiting.filter(({ id, claim_id, at }) => {
          const row = now.get(id);
          if (!row?.claim_id || row.claim_id === claim_id) return true;
          const [fromMs, toMs] = [at.getTime(), row.started_at.getTime()];
          if (isCalm) took['job of a dead process runs again'].push(toMs - fromMs);
          judge('job of a dead process runs again', toMs - fromMs - troubledMs(fromMs, toMs));
          return false;
        });
        await delay(200);
        return waiting.length === 0;
      },
      180_000,
    );
  }

  async function isFleetThere(): Promise<boolean> {
    if (troubles.some(({ toMs }) => toMs === Number.POSITIVE_INFINITY)) return delay(50, false);
    const [row] = await sql<{ live: number }>(
      'SELECT count(*)::int AS live FROM syncline.processes WHERE expires_at > clock_timestamp()',
    ).catch(() => []);
    await delay(50);
    return row?.live === options.executors;
  }

  return {
    took,
    fleetIsThere: () => until('every executor has a lease', isFleetThere, 120_000),
    during: async (work) => {
      await calm;
      const trouble = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      troubles.push(trouble);
      try {
        return await work();
      } finally {
        trouble.toMs = Date.now();
      }
    },
    calmly: async (work) => {
      let over = () => {};
      calm = new Promise<void>((resolve) => (over = resolve));
      try {
        const isCalm = await until('every executor has a lease', isFleetThere, 15_000).then(
          () => true,
          () => false,
        );
        return await work(isCalm);
      } finally {
        over();
      }
    },
    followDead: async (processIds, isCalm) => {
      const followed = follow(processIds, isCalm).catch((error: Error) => onProblem(error.message));
      following.push(followed);
      if (isCalm) await followed;
    },
    firstCommit: async (backAt) => {
      // Ids hold the time: without that every look would read all jobs of the run.
      const recent = `lpad(to_hex(floor(extract(epoch FROM $1::timestamptz - interval '2 minutes') * 1000)::bigint), 12, '0')`;
      let first: Date | undefined;
      await until(
        'a run is stored after Postgres came back',
        async () => {
          const [row] = await sql<{ at: Date | null }>(
            `SELECT min(pg_xact_commit_timestamp(xmin)) AS at FROM syncline.sync_jobs
             WHERE finished_at > $1 AND id > (${recent} || repeat('0', 20))::uuid`,
            [backAt],
          ).catch(() => []);
          first = row?.at ?? undefined;
          await delay(50);
          return first !== undefined;
        },
        120_000,
      );
      const ms = Math.max(0, (first as unknown as Date).getTime() - backAt.getTime());
      took['Postgres is back, first commit'].push(ms);
      judge('Postgres is back, first commit', ms);
    },
    followed: async () => void (await Promise.all(following)),
  };
}
