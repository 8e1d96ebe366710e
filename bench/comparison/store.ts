/** The application code around a peer's queue: its tables, and a sync that stores one signal and one cursor. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { requireCount, withClient } from '../tools/postgres.ts';

/** A due connection. A type, not an interface, because job payloads must be plain records. */
export type Due = { id: string; tenantId: string; externalId: string; cursor: unknown };

type Found = ReturnType<typeof sync>;
type Query = (text: string, values: unknown[]) => Promise<unknown>;

export const dispatchBatch = 1000;

const tables = `
  CREATE TABLE connections (
    id uuid PRIMARY KEY, tenant_id uuid NOT NULL, external_id text NOT NULL, interval_seconds int NOT NULL,
    next_run_at timestamptz NOT NULL, queued boolean NOT NULL DEFAULT false, cursor jsonb,
    updated_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX ON connections (next_run_at) WHERE NOT queued;
  CREATE TABLE signals (
    id uuid PRIMARY KEY DEFAULT uuidv7(), tenant_id uuid NOT NULL,
    connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE, kind text NOT NULL,
    occurred_at timestamptz NOT NULL, payload jsonb NOT NULL, dedupe_key text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(), UNIQUE (connection_id, dedupe_key));`;

/** The ids of empty jobs in batches of 5,000. */
export function emptyJobs(jobs: number): string[][] {
  const ids = Array.from({ length: jobs }, (_, i) => String(i));
  return Array.from({ length: Math.ceil(jobs / 5000) }, (_, i) => ids.slice(i * 5000, (i + 1) * 5000));
}

/** The same connections as those of Syncline. */
export function createDueConnections(url: string, size: number): Promise<void> {
  return withClient(url, async (client) => {
    await client.query(tables);
    await client.query(
      `INSERT INTO connections (id, tenant_id, external_id, interval_seconds, next_run_at, cursor)
       SELECT md5('connection' || n)::uuid, md5('tenant' || n % 100)::uuid, 'account-' || n, 3600,
         now() - (hashint4(n) & 2147483647) % 10000 * interval '1 ms', jsonb_build_object('page', md5(n::text))
       FROM generate_series(1, $1::int) n`,
      [size],
    );
  });
}

/** Throws unless each connection has one signal with the matching cursor, is not queued and is due in the future. */
export async function verifyStored(client: pg.Client, size: number): Promise<void> {
  await requireCount(client, 'signals', size);
  const finished = `connections c JOIN signals s ON s.connection_id = c.id AND s.dedupe_key = c.cursor ->> 'page'
    WHERE c.next_run_at > now() AND NOT c.queued`;
  await requireCount(client, finished, size);
}

/** Sets the next run time of a batch of due connections and adds their jobs in the same transaction. */
export async function dispatchAll(
  pool: pg.Pool,
  addJobs: (client: pg.PoolClient, due: Due[]) => Promise<unknown>,
): Promise<void> {
  const client = await pool.connect();
  for (let count = dispatchBatch; count === dispatchBatch; ) {
    await client.query('BEGIN');
    const { rows } = await client.query<Due>(
      `WITH due AS MATERIALIZED (
         SELECT id FROM connections WHERE next_run_at <= now() AND NOT queued
         ORDER BY next_run_at LIMIT ${dispatchBatch} FOR NO KEY UPDATE SKIP LOCKED
       )
       UPDATE connections c SET next_run_at = now() + interval_seconds * interval '1 s'
       FROM due WHERE c.id = due.id
       RETURNING c.id, c.tenant_id AS "tenantId", c.external_id AS "externalId", c.cursor`,
    );
    count = rows.length;
    if (count > 0) await addJobs(client, rows);
    await client.query('COMMIT');
  }
  client.release();
}

function sync(connection: Due) {
  const [page, now] = [randomUUID(), new Date()];
  return {
    connection,
    occurredAt: now,
    payload: { number: 1234, title: 'A small payload', account: connection.externalId },
    dedupeKey: page,
    cursor: { page, since: now.toISOString() },
  };
}

/** The simple way: read the connection, sync, store signal and cursor in one transaction. */
export async function syncOne(pool: pg.Pool, id: string): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<Due>(
      `SELECT id, tenant_id AS "tenantId", external_id AS "externalId", cursor FROM connections WHERE id = $1`,
      [id],
    );
    const { connection, ...found } = sync(rows[0] as Due);
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO signals (tenant_id, connection_id, kind, occurred_at, payload, dedupe_key)
       VALUES ($1, $2, 'issue.opened', $3, $4, $5) ON CONFLICT (connection_id, dedupe_key) DO NOTHING`,
      [connection.tenantId, id, found.occurredAt, found.payload, found.dedupeKey],
    );
    await client.query(
      'UPDATE connections SET cursor = $2, queued = false, updated_at = now() WHERE id = $1',
      [id, found.cursor],
    );
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function storeMany(query: Query, found: Found[]): Promise<void> {
  const rows = found.map(({ connection, occurredAt, payload, dedupeKey, cursor }) => ({
    tenant: connection.tenantId,
    id: connection.id,
    occurred: occurredAt,
    payload,
    key: dedupeKey,
    cursor,
  }));
  await query(
    `WITH found AS (
       SELECT * FROM json_to_recordset($1::json)
         AS f (tenant uuid, id uuid, occurred timestamptz, payload jsonb, key text, cursor jsonb)
     ), stored AS (
       INSERT INTO signals (tenant_id, connection_id, kind, occurred_at, payload, dedupe_key)
       SELECT tenant, id, 'issue.opened', occurred, payload, key FROM found
       ON CONFLICT (connection_id, dedupe_key) DO NOTHING
     )
     UPDATE connections c SET cursor = found.cursor, queued = false, updated_at = now()
     FROM found WHERE c.id = found.id`,
    [JSON.stringify(rows)],
  );
}

export async function syncMany(query: Query, connections: Due[]): Promise<void> {
  await storeMany(query, connections.map(sync));
}

/** Concurrent jobs share a transaction: results that arrive during one statement are stored by the next. */
export function groupCommit(query: Query, maxStatements = 2): (connection: Due) => Promise<void> {
  let waiting: { found: Found; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let running = 0;
  const flush = async () => {
    if (running >= maxStatements || waiting.length === 0) return;
    running++;
    const group = waiting;
    waiting = [];
    try {
      await storeMany(
        query,
        group.map(({ found }) => found),
      );
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    running--;
    void flush();
  };
  return async (connection) => {
    const found = sync(connection);
    await new Promise<void>((resolve, reject) => {
      if (waiting.push({ found, resolve, reject }) === 1) setImmediate(() => void flush());
    });
  };
}
