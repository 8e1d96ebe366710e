import type { Queryable } from './database.ts';

/** A signal as it is written: checked, and its payload as JSON text that Postgres takes. */
export interface NewSignal {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  jobId: string;
  kind: string;
  /** ISO-8601. */
  occurredAt: string;
  payload: string;
  dedupeKey: string | null;
}

/** Stores signals and returns how many of each job were new; one whose key the connection already has is absorbed. */
export async function insertSignals(
  tx: Queryable,
  now: Date,
  signals: NewSignal[],
): Promise<Map<string, number>> {
  const rows = await tx.query<{ job_id: string; stored: number }>(
    `WITH stored AS (
       INSERT INTO ${tx.schema}.signals
         (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key, received_at, created_at)
       SELECT s.*, $1, $1
       FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::timestamptz[], $9::jsonb[], $10::text[])
         AS s (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key)
       ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
       RETURNING job_id
     )
     SELECT job_id, count(*)::int AS stored FROM stored GROUP BY job_id`,
    [
      now,
      signals.map((signal) => signal.id),
      signals.map((signal) => signal.tenantId),
      signals.map((signal) => signal.providerSlug),
      signals.map((signal) => signal.connectionId),
      signals.map((signal) => signal.jobId),
      signals.map((signal) => signal.kind),
      signals.map((signal) => signal.occurredAt),
      signals.map((signal) => signal.payload),
      signals.map((signal) => signal.dedupeKey),
    ],
  );
  return new Map(rows.map((row) => [row.job_id, row.stored]));
}

/** A signal as stored. */
export interface SignalRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_id: string | null;
  kind: string;
  occurred_at: Date;
  received_at: Date;
  payload: unknown;
  dedupe_key: string | null;
}

const signalColumns =
  'id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, received_at, payload, dedupe_key';

export interface SignalFilter {
  connectionId?: string | undefined;
  provider?: string | undefined;
  kind?: string | undefined;
}

const filters = `($1::uuid IS NULL OR connection_id = $1) AND ($2::text IS NULL OR provider_slug = $2) AND ($3::text IS NULL OR kind = $3)`;

/** Signals, newest first: of one connection by when they were received, of all by their ids, which are in the order of time. */
export function listSignals(
  db: Queryable,
  { connectionId, provider, kind, limit }: SignalFilter & { limit: number },
): Promise<SignalRow[]> {
  const order = connectionId === undefined ? 'id DESC' : 'received_at DESC, id DESC';
  return db.query<SignalRow>(
    `SELECT ${signalColumns} FROM ${db.schema}.signals WHERE ${filters} ORDER BY ${order} LIMIT $4`,
    [connectionId, provider, kind, limit],
  );
}

/** Signals whose ids come after one, oldest first. */
export function signalsAfter(
  db: Queryable,
  { connectionId, provider, kind, after, limit }: SignalFilter & { after: string; limit: number },
): Promise<SignalRow[]> {
  return db.query<SignalRow>(
    `SELECT ${signalColumns} FROM ${db.schema}.signals WHERE ${filters} AND id > $4 ORDER BY id LIMIT $5`,
    [connectionId, provider, kind, after, limit],
  );
}
