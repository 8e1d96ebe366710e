import pg from 'pg';
import { requireCount } from '../tools/contest.ts';

/** What a team would keep beside its queue: connections that are due on an interval, and what was found for them. */
const tables = `
  CREATE TABLE connections (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    external_id text NOT NULL,
    interval_seconds int NOT NULL,
    next_run_at timestamptz NOT NULL,
    queued boolean NOT NULL DEFAULT false,
    cursor jsonb,
    updated_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX ON connections (next_run_at) WHERE NOT queued;
  CREATE TABLE signals (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    tenant_id uuid NOT NULL,
    connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    kind text NOT NULL,
    occurred_at timestamptz NOT NULL,
    payload jsonb NOT NULL,
    dedupe_key text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (connection_id, dedupe_key));`;

/** All of them on an hourly interval, and due within the last ten seconds, like Syncline's. */
export async function createDueConnections(url: string, size: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(tables);
  await client.query(
    `INSERT INTO connections (id, tenant_id, external_id, interval_seconds, next_run_at, cursor)
     SELECT md5('connection' || n)::uuid, md5('tenant' || n % 100)::uuid, 'account-' || n, 3600,
       now() - (hashint4(n) & 2147483647) % 10000 * interval '1 ms', jsonb_build_object('page', md5(n::text))
     FROM generate_series(1, $1::int) n`,
    [size],
  );
  await client.end();
}

/** Throws unless every connection has one signal and the cursor that came with it, is free, and next due in the future. */
export async function verifyStored(client: pg.Client, size: number): Promise<void> {
  await requireCount(client, 'signals', 'signals', size);
  await requireCount(
    client,
    'connections with their own signal and cursor, and their next run ahead',
    `connections c JOIN signals s ON s.connection_id = c.id AND s.dedupe_key = c.cursor ->> 'page'
     WHERE c.next_run_at > now() AND NOT c.queued`,
    size,
  );
}
