import type pg from 'pg';
import { type Due, type Found, sync } from './sync.ts';

/** Anything that runs a statement: a client, a pool, or a transaction of somebody else's. */
export type Query = (text: string, values: unknown[]) => Promise<unknown>;

/** What most would write: read the connection, sync, and store signal and cursor in a transaction of their own. */
export async function syncPlainly(pool: pg.Pool, id: string): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<Due>(
      `SELECT id, tenant_id AS "tenantId", external_id AS "externalId", cursor FROM connections WHERE id = $1`,
      [id],
    );
    const { connection, ...found } = await sync(rows[0] as Due);
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

/** Signals and cursors of many, in one statement, which is one transaction. */
async function storeMany(query: Query, found: Found[]): Promise<void> {
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
    [
      JSON.stringify(
        found.map(({ connection, occurredAt, payload, dedupeKey, cursor }) => ({
          tenant: connection.tenantId,
          id: connection.id,
          occurred: occurredAt,
          payload,
          key: dedupeKey,
          cursor,
        })),
      ),
    ],
  );
}

export async function syncMany(query: Query, connections: Due[]): Promise<void> {
  await storeMany(query, await Promise.all(connections.map(sync)));
}

/** Jobs that run at once share a transaction: what has been found while one is under way is stored by the next. */
export function groupCommit(query: Query, atOnce: number): (connection: Due) => Promise<void> {
  let waiting: { found: Found; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let underWay = 0;
  const flush = async () => {
    if (underWay >= atOnce || waiting.length === 0) return;
    underWay++;
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
    underWay--;
    void flush();
  };
  return async (connection) => {
    const found = await sync(connection);
    await new Promise<void>((resolve, reject) => {
      if (waiting.push({ found, resolve, reject }) === 1) setImmediate(() => void flush());
    });
  };
}
