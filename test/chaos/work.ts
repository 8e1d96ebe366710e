import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../http/random.ts';
import { until } from '../support/until.ts';
import type { ChaosPostgres } from './postgres.ts';
import type { Provider } from './provider.ts';

/** Keeps the fleet busy: without it connections would sync once an hour. */
export interface Work {
  /** Has connections that have nothing to do synced now, about so many. */
  push(many: number): Promise<void>;
  /** What the API answered, by status; 0 where nobody did. */
  answers: Map<number, number>;
  /** Ends it; then everything that the provider has is fetched, and nothing is left to do. */
  finish(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkOptions {
  postgres: ChaosPostgres;
  provider: Provider;
  chance: Chance;
  /** The API of the fleet, and an operator's key to it. */
  api: { url: string; key: string };
  connections: { id: string; hasKeys: boolean }[];
  onProblem: (what: string) => void;
}

const roundMs = 1000;
/** Per round. */
const [grown, overdue, brought, triggered] = [6, 10, 8, 2];
const answerMs = 20_000;

export function startWork({ postgres, provider, chance, api, connections, onProblem }: WorkOptions): Work {
  const { sql } = postgres;
  const over = new AbortController();
  const answers = new Map<number, number>();
  const ids = connections.map(({ id }) => id);
  const some = (many: number) => Array.from({ length: many }, () => chance.pick(ids));

  /** As another service would: the next run is due, and one that waits is due now. What is locked is left alone. */
  async function write(): Promise<void> {
    await sql(
      `UPDATE syncline.connections SET metadata = jsonb_set(metadata, '{sync,next_run_at}', to_jsonb(to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
       WHERE id IN (SELECT id FROM syncline.connections WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED)`,
      [some(overdue)],
    );
    await sql(
      `UPDATE syncline.sync_jobs SET scheduled_at = now()
       WHERE id IN (SELECT id FROM syncline.sync_jobs WHERE status = 'queued' AND scheduled_at > now() AND connection_id = ANY ($1)
                    FOR NO KEY UPDATE SKIP LOCKED)`,
      [some(brought)],
    );
  }

  /** A full sync only where signals have keys: elsewhere it rightly stores everything again. */
  async function trigger(): Promise<void> {
    const { id, hasKeys } = chance.pick(connections);
    const type = hasKeys && chance.percent(20) ? 'full' : 'incremental';
    await ask(`/v1/connections/${id}/trigger`, { method: 'POST', body: JSON.stringify({ type }) });
  }

  async function look(): Promise<void> {
    await ask(
      chance.pick([
        '/v1/connections?limit=20',
        '/v1/jobs?limit=20',
        '/v1/stats',
        '/v1/signals/feed?limit=50',
        '/readyz',
      ]),
    );
  }

  async function ask(path: string, init: RequestInit = {}): Promise<void> {
    const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' };
    const status = await fetch(`${api.url}${path}`, {
      ...init,
      headers,
      signal: AbortSignal.timeout(answerMs),
    }).then(
      async (response) => {
        const text = await response.text();
        if (response.status === 500) onProblem(`${init.method ?? 'GET'} ${path} was answered with ${text}`);
        return response.status;
      },
      () => 0,
    );
    answers.set(status, (answers.get(status) ?? 0) + 1);
  }

  async function repeat(round: () => Promise<unknown>): Promise<void> {
    while (!over.signal.aborted) {
      await round().catch(() => {});
      await delay(roundMs / 2 + chance.below(roundMs), undefined, { signal: over.signal }).catch(() => {});
    }
  }

  const loops = [
    repeat(async () => provider.grow(grown)),
    repeat(write),
    repeat(() => Promise.all(Array.from({ length: triggered }, trigger))),
    repeat(look),
  ];

  const queue = (which: string) =>
    sql(
      `INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type)
       SELECT tenant_id, provider_slug, id, 'incremental' FROM syncline.connections WHERE ${which} ON CONFLICT DO NOTHING`,
    );

  /** What somebody holds is left alone: who was cut off in mid-transaction may hold it for a minute. */
  async function push(many: number): Promise<void> {
    const free = `id IN (SELECT id FROM syncline.connections ORDER BY random() LIMIT ${many} FOR NO KEY UPDATE SKIP LOCKED)`;
    await queue(free).catch(() => {});
  }

  /** Every one, however long it is held. */
  const pushAll = () =>
    until(
      'every connection has a job',
      () =>
        queue('true').then(
          () => true,
          () => false,
        ),
      120_000,
    );

  /** Until no connection is overdue, and no job waits or runs. What a scheduler has placed for later is brought forward. */
  const quiet = (what: string) =>
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
    over.abort();
    await Promise.all(loops);
  }

  return {
    push,
    answers,
    stop,
    finish: async () => {
      await stop();
      // What was pending may have looked before the last items came.
      await quiet('what was pending');
      await pushAll();
      await quiet('one more run of each');
    },
  };
}
