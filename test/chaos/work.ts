import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../http/random.ts';
import { until } from '../support/until.ts';
import type { ChaosPostgres } from './postgres.ts';
import type { Provider } from './provider.ts';

/** Generates load: without it, connections would sync once an hour. */
export interface Work {
  /** For up to `count` random connections. */
  enqueue(count: number): Promise<void>;
  /** API responses by status; 0 without a response. */
  responses: Map<number, number>;
  /** Stops the load and waits until all items are stored. */
  finish(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkOptions {
  postgres: ChaosPostgres;
  provider: Provider;
  chance: Chance;
  api: { url: string; key: string };
  connections: { id: string; hasKeys: boolean }[];
  onProblem: (problem: string) => void;
}

const roundMs = 1000;
const [grownCount, overdueCount, broughtForwardCount, triggerCount] = [6, 10, 8, 2];
const timeoutMs = 20_000;

export function startWork({ postgres, provider, chance, api, connections, onProblem }: WorkOptions): Work {
  const { sql } = postgres;
  const stopped = new AbortController();
  const responses = new Map<number, number>();
  const ids = connections.map(({ id }) => id);
  const randomIds = (count: number) => Array.from({ length: count }, () => chance.pick(ids));

  /** Makes connections and jobs due now, as another service would. Skips locked rows. */
  async function writeTables(): Promise<void> {
    await sql(
      `UPDATE syncline.connections SET metadata = jsonb_set(metadata, '{sync,next_run_at}', to_jsonb(to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
       WHERE id IN (SELECT id FROM syncline.connections WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED)`,
      [randomIds(overdueCount)],
    );
    await sql(
      `UPDATE syncline.sync_jobs SET scheduled_at = now()
       WHERE id IN (SELECT id FROM syncline.sync_jobs WHERE status = 'queued' AND scheduled_at > now() AND connection_id = ANY ($1)
                    FOR NO KEY UPDATE SKIP LOCKED)`,
      [randomIds(broughtForwardCount)],
    );
  }

  /** Full syncs only with dedupe keys: without, they correctly store all signals again. */
  async function trigger(): Promise<void> {
    const { id, hasKeys } = chance.pick(connections);
    const type = hasKeys && chance.percent(20) ? 'full' : 'incremental';
    await request(`/v1/connections/${id}/trigger`, { method: 'POST', body: JSON.stringify({ type }) });
  }

  async function read(): Promise<void> {
    await request(
      chance.pick([
        '/v1/connections?limit=20',
        '/v1/jobs?limit=20',
        '/v1/stats',
        '/v1/signals/feed?limit=50',
        '/readyz',
      ]),
    );
  }

  async function request(path: string, init: RequestInit = {}): Promise<void> {
    const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' };
    const status = await fetch(`${api.url}${path}`, {
      ...init,
      headers,
      signal: AbortSignal.timeout(timeoutMs),
    }).then(
      async (response) => {
        const text = await response.text();
        if (response.status === 500) onProblem(`${init.method ?? 'GET'} ${path} returned 500: ${text}`);
        return response.status;
      },
      () => 0,
    );
    responses.set(status, (responses.get(status) ?? 0) + 1);
  }

  async function repeat(round: () => Promise<unknown>): Promise<void> {
    while (!stopped.signal.aborted) {
      await round().catch(() => {});
      await delay(roundMs / 2 + chance.below(roundMs), undefined, { signal: stopped.signal }).catch(() => {});
    }
  }

  const loops = [
    repeat(async () => provider.grow(grownCount)),
    repeat(writeTables),
    repeat(() => Promise.all(Array.from({ length: triggerCount }, trigger))),
    repeat(read),
  ];

  const insertJobs = (where: string) =>
    sql(
      `INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type)
       SELECT tenant_id, provider_slug, id, 'incremental' FROM syncline.connections WHERE ${where} ON CONFLICT DO NOTHING`,
    );

  /** Skips locked rows: a transaction of a cut session may hold its locks for a minute. */
  async function enqueue(count: number): Promise<void> {
    const unlocked = `id IN (SELECT id FROM syncline.connections ORDER BY random() LIMIT ${count} FOR NO KEY UPDATE SKIP LOCKED)`;
    await insertJobs(unlocked).catch(() => {});
  }

  /** Waits for locked rows. */
  const enqueueAll = () =>
    until(
      'every connection has a job',
      () =>
        insertJobs('true').then(
          () => true,
          () => false,
        ),
      120_000,
    );

  /** Waits until no connection is overdue and no job is pending. Makes future jobs due now. */
  const untilDrained = (what: string) =>
    until(
      `${what} has ended`,
      async () => {
        await delay(100);
        await sql(
          `UPDATE syncline.sync_jobs SET scheduled_at = now()
           WHERE id IN (SELECT id FROM syncline.sync_jobs WHERE status = 'queued' AND scheduled_at > now()
                        FOR NO KEY UPDATE SKIP LOCKED)`,
        );
        const [row] = await sql<{ left: number }>(
          `SELECT (SELECT count(*)::int FROM syncline.sync_jobs WHERE status IN ('queued', 'running'))
             + (SELECT count(*)::int FROM syncline.connections WHERE due_at < now()) AS left`,
        );
        return row?.left === 0;
      },
      120_000,
    );

  async function stop(): Promise<void> {
    stopped.abort();
    await Promise.all(loops);
  }

  return {
    enqueue,
    responses,
    stop,
    finish: async () => {
      await stop();
      // Pending runs may have read before the last items were added.
      await untilDrained('the pending work');
      await enqueueAll();
      await untilDrained('a last run of each connection');
    },
  };
}
