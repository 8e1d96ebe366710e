import { type Bucket, newBucket } from '../schedule/bucket.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { indexLookup } from './plans.ts';

interface BudgetPlace {
  key: string;
  /** undefined: shared by all tenants. */
  tenantId: string | undefined;
  provider: string;
  credentialId: string | undefined;
  name: string;
}

export interface NewBudget extends BudgetPlace {
  stated: number;
  periodSeconds: number;
}

/**
 * A separate statement before any row lock: an insert waits for a concurrent insert of the same key, and must
 * hold no lock that the other needs.
 */
export async function ensureBudgets(db: Queryable, time: Date | null, budgets: NewBudget[]): Promise<void> {
  const buckets = budgets.map(({ stated, periodSeconds }) => newBucket(stated, periodSeconds, 0));
  await db.query(
    `INSERT INTO ${db.schema}.budgets
       (key, tenant_id, provider_slug, credential_id, name, most, stated, period_seconds, opened_at, resets_at, opens_at)
     SELECT b.key, b.tenant_id, b.provider, b.credential_id, b.name, b.stated, b.stated, b.period_seconds,
       now.at, now.at + b.resets_in_ms * interval '1 millisecond', now.at + b.opens_in_ms * interval '1 millisecond'
     FROM unnest($2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::int[], $8::int[], $9::float8[], $10::float8[])
       AS b (key, tenant_id, provider, credential_id, name, stated, period_seconds, resets_in_ms, opens_in_ms),
       (SELECT coalesce($1::timestamptz, clock_timestamp()) AS at) now
     ORDER BY b.key COLLATE "C"
     ON CONFLICT (key) DO NOTHING`,
    [
      time,
      budgets.map((budget) => budget.key),
      budgets.map((budget) => budget.tenantId ?? null),
      budgets.map((budget) => budget.provider),
      budgets.map((budget) => budget.credentialId ?? null),
      budgets.map((budget) => budget.name),
      budgets.map((budget) => budget.stated),
      budgets.map((budget) => budget.periodSeconds),
      buckets.map((bucket) => bucket.resetsAtMs),
      buckets.map((bucket) => bucket.opensAtMs),
    ],
  );
}

interface CountRow {
  key: string;
  most: number;
  stated: number;
  period_seconds: number;
  window_number: string;
  spent: number;
  drift: number;
  leased: number;
  carried: number;
  opened_at: Date;
  resets_at: Date;
  opens_at: Date;
  learned_at: Date | null;
}

const counts =
  'key, most, stated, period_seconds, window_number, spent, drift, leased, carried, opened_at, resets_at, opens_at, learned_at';

export interface LockedBudget {
  key: string;
  bucket: Bucket;
  /** The database clock. */
  nowMs: number;
}

/** Lock order: by key. */
export async function lockBudgets(tx: Queryable, time: Date | null, keys: string[]): Promise<LockedBudget[]> {
  const rows = await tx.query<CountRow & { now: Date }>(
    `SELECT ${counts}, coalesce($1::timestamptz, clock_timestamp()) AS now
     FROM ${tx.schema}.budgets WHERE key = ANY ($2::text[]) ORDER BY key FOR NO KEY UPDATE`,
    [time, keys],
  );
  return rows.map((row) => ({ key: row.key, bucket: toBucket(row), nowMs: row.now.getTime() }));
}

export async function writeBudgets(tx: Queryable, budgets: { key: string; bucket: Bucket }[]): Promise<void> {
  const column = (pick: (bucket: Bucket) => unknown) => budgets.map(({ bucket }) => pick(bucket));
  const at = (ms: number | undefined) => (ms === undefined ? null : new Date(ms));
  await tx.query(
    `UPDATE ${tx.schema}.budgets b
     SET most = n.most, stated = n.stated, period_seconds = n.period_seconds, window_number = n.window_number, spent = n.spent,
         drift = n.drift, leased = n.leased, carried = n.carried, opened_at = n.opened_at, resets_at = n.resets_at,
         opens_at = n.opens_at, learned_at = n.learned_at
     FROM unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::bigint[], $6::int[], $7::int[], $8::int[], $9::int[],
         $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[])
       AS n (key, most, stated, period_seconds, window_number, spent, drift, leased, carried, opened_at, resets_at, opens_at,
         learned_at)
     WHERE ${indexLookup('b.key', 'n.key')}`,
    [
      budgets.map(({ key }) => key),
      column(({ most }) => most),
      column(({ stated }) => stated),
      column(({ periodSeconds }) => periodSeconds),
      column(({ windowNumber }) => windowNumber),
      column(({ spent }) => spent),
      column(({ drift }) => drift),
      column(({ leased }) => leased),
      column(({ carried }) => carried),
      column(({ openedAtMs }) => at(openedAtMs)),
      column(({ resetsAtMs }) => at(resetsAtMs)),
      column(({ opensAtMs }) => at(opensAtMs)),
      column(({ learnedAtMs }) => at(learnedAtMs)),
    ],
  );
}

function toBucket(row: CountRow): Bucket {
  return {
    most: row.most,
    stated: row.stated,
    periodSeconds: row.period_seconds,
    windowNumber: Number(row.window_number),
    spent: row.spent,
    drift: row.drift,
    leased: row.leased,
    carried: row.carried,
    openedAtMs: row.opened_at.getTime(),
    resetsAtMs: row.resets_at.getTime(),
    opensAtMs: row.opens_at.getTime(),
    learnedAtMs: row.learned_at?.getTime(),
  };
}

export interface ListedBudget extends BudgetPlace, Listed {
  bucket: Bucket;
}

export interface BudgetFilter {
  provider?: string | undefined;
  credentialId?: string | undefined;
}

/** Keys begin with the provider, so every filter is an index range. */
export async function listBudgets(
  db: Queryable,
  { provider, credentialId }: BudgetFilter,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<ListedBudget[]> {
  const page = `SELECT ${counts}, tenant_id, provider_slug, credential_id, name FROM ${db.tables.budgets} b
     WHERE ($1::text IS NULL OR key > $1) AND ($2::text IS NULL OR key > $2) AND ($3::text IS NULL OR key < $3)
       AND ($4::uuid IS NULL OR credential_id = $4)
     ORDER BY key LIMIT $5`;
  const cut = { columns: ['key', 'name'], order: 'p.key', above: '$5' } as const;
  const rows = await db.query<
    CountRow &
      Listed & {
        tenant_id: string | null;
        provider_slug: string;
        credential_id: string | null;
        name: string;
      }
  >(
    `SELECT ${counts}, tenant_id, provider_slug, credential_id, name, followed FROM ${withinBytes(page, cut)} b ORDER BY key`,
    // '0' follows '/' in byte order.
    [after, provider && `${provider}/`, provider && `${provider}0`, credentialId, limit],
  );
  return rows.map((row) => ({
    key: row.key,
    tenantId: row.tenant_id ?? undefined,
    provider: row.provider_slug,
    credentialId: row.credential_id ?? undefined,
    name: row.name,
    bucket: toBucket(row),
    followed: row.followed,
  }));
}

/** Budgets whose last window ended before `cutoff`. */
export async function deleteBudgets(db: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.budgets WHERE key = ANY (ARRAY(
       SELECT key FROM ${db.schema}.budgets WHERE resets_at <= $1 ORDER BY resets_at LIMIT $2 FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
    [cutoff, limit],
  );
  return rows.length;
}
