import { fileURLToPath } from 'node:url';
import { type ConfigOptions, type Connector, defineConnector, type SyncContext } from '../../src/index.ts';
import { tenant } from './database.ts';
import { type Finished, type Running, startProcess } from './process.ts';
import { until } from './until.ts';

const script = fileURLToPath(new URL('./fixtures/worker.mjs', import.meta.url));

/** The items of every provider in these tests: three pages. */
export const items = Array.from({ length: 30 }, (_, i) => `item-${String(i + 1).padStart(2, '0')}`);
export const pageSize = 10;

/** The n-th statement or connector call with this label, counted from 1. */
export interface Point {
  label: string;
  nth: number;
}

/** By label, not by index: a slow machine may send additional statements. */
export function pointAt(points: string[], index: number): Point {
  const label = points[index] as string;
  return { label, nth: points.slice(0, index + 1).filter((point) => point === label).length };
}

export interface Fault extends Point {
  signal: 'SIGKILL' | 'SIGSTOP';
  /** `during`: after the statement is sent, before the response. */
  when: 'before' | 'during' | 'after';
}

export interface WorkerOptions {
  database: string;
  providers: string[];
  executor?: ConfigOptions['executor'];
  rateLimit?: ConfigOptions['rateLimit'];
  engines?: number;
  /** Without dedupe keys, only the claim prevents duplicate signals. */
  hasKeys?: boolean;
  syncMs?: number;
  hangs?: string[];
  kills?: string[];
  /** Its statements then do not depend on dead processes. */
  skipsReaping?: boolean;
  fault?: Fault;
  /** Exits when drained; by default on SIGTERM. */
  until?: 'drained';
}

export function startWorker(options: WorkerOptions): Running {
  return startProcess(process.execPath, [script, JSON.stringify({ items, pageSize, ...options })]);
}

export function pointsOf({ stdout, stderr }: Finished): string[] {
  const points = /^points (.*)$/m.exec(stdout)?.[1];
  if (points === undefined) throw new Error(`The worker did not drain: ${stdout}${stderr}`);
  return JSON.parse(points) as string[];
}

export function injectedFaultOf({ stdout }: Finished): { label: string; atMs: number } | undefined {
  const fault = /^struck (.*)$/m.exec(stdout)?.[1];
  return fault === undefined ? undefined : (JSON.parse(fault) as { label: string; atMs: number });
}

/** The connector of the worker, for engines in the test process. */
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

/** Adds a connection with due jobs for each name. */
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
  // Random due times, so that the order differs between types.
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
  /** Stored items, sorted, including duplicates. */
  items: string[];
  cursor: unknown;
  jobs: string[];
  attempts: number;
}

/** All items stored once, one job per page, no failed attempt. */
export const complete: Outcome = {
  items,
  cursor: { after: items.length },
  jobs: ['succeeded', 'succeeded', 'succeeded'],
  attempts: 0,
};

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

/** The expected result of `outcomes`: nothing lost or duplicated. */
export const allComplete = (names: string[]): Record<string, Outcome> =>
  Object.fromEntries(names.map((name) => [name, complete]));

export const isHeartbeat = (statement: string) => statement.startsWith('WITH renewed');

export const connectionLost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

export async function forEachConcurrently<T>(
  concurrency: number,
  values: T[],
  work: (value: T) => Promise<void>,
): Promise<void> {
  const remaining = [...values];
  const lane = async () => {
    for (let next = remaining.shift(); next !== undefined; next = remaining.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}
