import { fileURLToPath } from 'node:url';
import { type ConfigOptions, type Connector, defineConnector, type SyncContext } from '../../src/index.ts';
import { tenant } from './database.ts';
import { type Finished, type Running, startProcess } from './process.ts';
import { until } from './until.ts';

const script = fileURLToPath(new URL('./fixtures/worker.mjs', import.meta.url));

/** What every provider of these tests has: thirty items, shown in three pages. */
export const items = Array.from({ length: 30 }, (_, i) => `item-${String(i + 1).padStart(2, '0')}`);
export const pageSize = 10;

/** One of the statements and calls of connectors: the n-th with this label, counted from 1. */
export interface Point {
  label: string;
  nth: number;
}

/**
 * Which one of all that is. By its label, not by its place: on a slow machine an executor may ask once more when to look again.
 */
export function pointAt(points: string[], index: number): Point {
  const label = points[index] as string;
  return { label, nth: points.slice(0, index + 1).filter((point) => point === label).length };
}

/** Where and how a worker is struck. */
export interface Fault extends Point {
  signal: 'SIGKILL' | 'SIGSTOP';
  /** `during`: it is on its way, and its answer is not. */
  when: 'before' | 'during' | 'after';
}

export interface WorkerOptions {
  database: string;
  /** What it has connectors for. */
  providers: string[];
  executor?: ConfigOptions['executor'];
  rateLimit?: ConfigOptions['rateLimit'];
  /** Engines in this one process. */
  engines?: number;
  /** Whether signals have a dedupe key. Without one, nothing but the claim keeps them from being stored twice. */
  hasKeys?: boolean;
  /** How long a connector takes. */
  syncMs?: number;
  /** Providers that never answer. */
  hangs?: string[];
  /** Providers whose connector kills its process. */
  kills?: string[];
  /** It does not look after the jobs of dead processes, so that what it sends does not depend on them. */
  leavesTheDead?: boolean;
  fault?: Fault;
  /** When it ends by itself; unless given, SIGTERM ends it. */
  until?: 'drained';
}

/** A worker as a process of its own, on what was built. */
export function startWorker(options: WorkerOptions): Running {
  return startProcess(process.execPath, [script, JSON.stringify({ items, pageSize, ...options })]);
}

/** What a worker that drained sent, and when it called connectors, in order. */
export function pointsOf({ stdout, stderr }: Finished): string[] {
  const points = /^points (.*)$/m.exec(stdout)?.[1];
  if (points === undefined) throw new Error(`The worker did not drain: ${stdout}${stderr}`);
  return JSON.parse(points) as string[];
}

/** Where and when a worker was struck. */
export function strikeOf({ stdout }: Finished): { label: string; atMs: number } | undefined {
  const struck = /^struck (.*)$/m.exec(stdout)?.[1];
  return struck === undefined ? undefined : (JSON.parse(struck) as { label: string; atMs: number });
}

/** The same connector for an engine in the test's own process; `before` is waited for before each page. */
export function pagedConnector(
  provider: string,
  before: (context: SyncContext, after: number) => unknown = () => {},
): Connector {
  return defineConnector({
    provider,
    name: provider,
    sync: async (context) => {
      const after = (context.cursor as { after: number } | undefined)?.after ?? 0;
      await before(context as SyncContext, after);
      const page = items.slice(after, after + pageSize);
      return {
        signals: page.map((item) => ({
          kind: 'item.seen',
          occurredAt: '2025-01-01T10:00:00Z',
          payload: { item },
        })),
        nextCursor: { after: after + page.length },
        hasMore: after + page.length < items.length,
      };
    },
  });
}

export type Sql = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: unknown[],
) => Promise<Row[]>;

/** A connection with due jobs for each name, and a provider of the same name unless another is given. */
export async function addConnections(
  sql: Sql,
  names: string[],
  { types = ['incremental'], providers = names }: { types?: string[]; providers?: string[] } = {},
): Promise<void> {
  const providerOf = names.map((_, i) => providers[i % providers.length]);
  await sql('INSERT INTO syncline.providers (slug) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [
    providers,
  ]);
  await sql(
    `INSERT INTO syncline.connections (tenant_id, external_id, provider_slug)
     SELECT $1, * FROM unnest($2::text[], $3::text[])`,
    [tenant, names, providerOf],
  );
  // They are due at different times, so that each type has an order of its own.
  await sql(
    `INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
     SELECT tenant_id, provider_slug, id, type, now() - random() * interval '1 hour'
     FROM syncline.connections CROSS JOIN unnest($1::text[]) AS type WHERE external_id = ANY ($2)`,
    [types, names],
  );
}

export async function countOf(sql: Sql, what: string): Promise<number> {
  const [row] = await sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${what}`);
  return row?.n ?? Number.NaN;
}

export const nothingPending = (sql: Sql) =>
  until('nothing is pending', async () => (await countOf(sql, pending)) === 0);

export const pending = `syncline.sync_jobs WHERE status IN ('queued', 'running')`;

export interface Outcome {
  /** What was stored, in the order of the provider's list; an item that was stored twice is there twice. */
  items: string[];
  cursor: unknown;
  /** The status of each job, in the order in which they were made. */
  jobs: string[];
  /** Of all jobs together. */
  attempts: number;
}

/** A connection of which everything is stored, once, in one job for each page, and no failure was counted. */
export const complete: Outcome = {
  items,
  cursor: { after: items.length },
  jobs: ['succeeded', 'succeeded', 'succeeded'],
  attempts: 0,
};

/** How the connections stand, by name. */
export async function outcomes(sql: Sql): Promise<Record<string, Outcome>> {
  const rows = await sql<Outcome & { name: string }>(
    `SELECT c.external_id AS name, c.metadata #> '{sync,cursor}' AS cursor,
       ARRAY(SELECT payload ->> 'item' FROM syncline.signals s WHERE s.connection_id = c.id ORDER BY 1) AS items,
       ARRAY(SELECT status FROM syncline.sync_jobs j WHERE j.connection_id = c.id ORDER BY created_at, id) AS jobs,
       (SELECT sum(attempts)::int FROM syncline.sync_jobs j WHERE j.connection_id = c.id) AS attempts
     FROM syncline.connections c`,
  );
  return Object.fromEntries(rows.map(({ name, ...outcome }) => [name, outcome]));
}

/** What `outcomes` says when nothing was lost and nothing doubled. */
export const allComplete = (names: string[]): Record<string, Outcome> =>
  Object.fromEntries(names.map((name) => [name, complete]));

export const isHeartbeat = (statement: string) => statement.startsWith('WITH renewed');

/** What the client says when its socket is gone. */
export const connectionLost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

/** Does the work for each, never for more than so many at a time. */
export async function severalAtATime<T>(
  most: number,
  all: T[],
  work: (one: T) => Promise<void>,
): Promise<void> {
  const left = [...all];
  const lane = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: most }, lane));
}
