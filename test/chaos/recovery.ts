import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { leaseSeconds } from './fault.ts';
import type { ChaosPostgres } from './postgres.ts';

export interface Recoveries {
  'job of a dead process runs again': number[];
  'Postgres is back, first commit': number[];
}

export interface Recovery {
  durations: Recoveries;
  /** Resolves when every executor has a lease. */
  fleetReady(): Promise<void>;
  /** Recovery times exclude the time of the fault. */
  duringFault<T>(fault: () => Promise<T>): Promise<T>;
  /** Delays database faults during `work`. `isCalm` is false if the fleet was not ready in time. */
  withoutFaults<T>(work: (isCalm: boolean) => Promise<T>): Promise<T>;
  /** Tracks the jobs of killed processes until they run again; measures the time only if `isCalm`. */
  trackKilled(processIds: string[], isCalm: boolean): Promise<void>;
  awaitFirstCommit(backAt: Date): Promise<void>;
  allRecovered(): Promise<void>;
}

/** A fifth of the lease. */
const sweepMs = leaseSeconds * 200;
const limitMs: Record<keyof Recoveries, number> = {
  'job of a dead process runs again': leaseSeconds * 1000 + sweepMs + 5000,
  'Postgres is back, first commit': 5000,
};
/** Every process reconnects within four seconds after a fault. */
const afterFaultMs = 5000;

export interface RecoveryOptions {
  postgres: ChaosPostgres;
  executors: number;
  /** Multiplies the time limits; an overloaded machine multiplies them further. */
  limitFactor: number;
  onProblem: (problem: string) => void;
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { limitFactor, onProblem } = options;
  const { sql } = options.postgres;
  const durations: Recoveries = {
    'job of a dead process runs again': [],
    'Postgres is back, first commit': [],
  };
  const faults: { fromMs: number; toMs: number }[] = [];
  const tracking: Promise<void>[] = [];
  let calmPhase: Promise<unknown> = Promise.resolve();

  function judge(what: keyof Recoveries, ms: number): void {
    const scale = Math.max(limitFactor, (loadavg()[0] ?? 0) / availableParallelism());
    if (ms <= limitMs[what] * scale) return;
    const limit = `limit ${limitMs[what]} ms (times ${scale.toFixed(1)})`;
    onProblem(`${what}: after ${Math.round(ms)} ms, ${limit}`);
  }

  /** The part of this period during database faults. */
  function faultyMs(fromMs: number, toMs: number): number {
    let [sum, countedUntil] = [0, fromMs];
    for (const fault of faults) {
      const from = Math.max(fault.fromMs, countedUntil);
      const to = Math.min(fault.toMs + afterFaultMs, toMs);
      if (to <= from) continue;
      sum += to - from;
      countedUntil = to;
    }
    return sum;
  }

  async function track(processIds: string[], isCalm: boolean): Promise<void> {
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
          if (isCalm) durations['job of a dead process runs again'].push(toMs - fromMs);
          judge('job of a dead process runs again', toMs - fromMs - faultyMs(fromMs, toMs));
          return false;
        });
        await delay(200);
        return waiting.length === 0;
      },
      180_000,
    );
  }

  async function isFleetReady(): Promise<boolean> {
    if (faults.some(({ toMs }) => toMs === Number.POSITIVE_INFINITY)) return delay(50, false);
    const [row] = await sql<{ live: number }>(
      'SELECT count(*)::int AS live FROM syncline.processes WHERE expires_at > clock_timestamp()',
    ).catch(() => []);
    await delay(50);
    return row?.live === options.executors;
  }

  return {
    durations,
    fleetReady: () => until('every executor has a lease', isFleetReady, 120_000),
    duringFault: async (work) => {
      await calmPhase;
      const fault = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      faults.push(fault);
      try {
        return await work();
      } finally {
        fault.toMs = Date.now();
      }
    },
    withoutFaults: async (work) => {
      let endCalmPhase = () => {};
      calmPhase = new Promise<void>((resolve) => (endCalmPhase = resolve));
      try {
        const isCalm = await until('every executor has a lease', isFleetReady, 15_000).then(
          () => true,
          () => false,
        );
        return await work(isCalm);
      } finally {
        endCalmPhase();
      }
    },
    trackKilled: async (processIds, isCalm) => {
      const recovered = track(processIds, isCalm).catch((error: Error) => onProblem(error.message));
      tracking.push(recovered);
      if (isCalm) await recovered;
    },
    awaitFirstCommit: async (backAt) => {
      // UUIDv7 ids contain the time: the condition avoids reading all jobs.
      const recent = `lpad(to_hex(floor(extract(epoch FROM $1::timestamptz - interval '2 minutes') * 1000)::bigint), 12, '0')`;
      let first: Date | undefined;
      await until(
        'a run is committed after the restart of Postgres',
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
      durations['Postgres is back, first commit'].push(ms);
      judge('Postgres is back, first commit', ms);
    },
    allRecovered: async () => void (await Promise.all(tracking)),
  };
}
