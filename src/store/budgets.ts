import { type Bucket, newBucket } from '../schedule/bucket.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql, unnest } from './sql.ts';

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

const ensureBudgetsSql = sql<object>`
  INSERT INTO :schema.budgets
    (key, tenant_id, provider_slug, credential_id, name, most, stated, period_seconds,
     opened_at, resets_at, opens_at)
  SELECT b.key, b.tenant_id, b.provider, b.credential_id, b.name, b.stated, b.stated, b.period_seconds,
    now.at, now.at + b.resets_in_ms * interval '1 millisecond',
    now.at + b.opens_in_ms * interval '1 millisecond'
  FROM ${unnest('b', {
    key: 'text',
    tenantId: 'uuid',
    provider: 'text',
    credentialId: 'uuid',
    name: 'text',
    stated: 'int',
    periodSeconds: 'int',
    resetsInMs: 'float8',
    opensInMs: 'float8',
  })},
    (SELECT coalesce(:time::timestamptz, clock_timestamp()) AS at) now
  ORDER BY b.key COLLATE "C"
  ON CONFLICT (key) DO NOTHING`;

/** Call without row locks, which a concurrent insert of the key may need to finish. */
export async function ensureBudgets(db: Queryable, time: Date | null, budgets: NewBudget[]): Promise<void> {
  const withEnds = budgets.map((budget) => {
    const { resetsAtMs, opensAtMs } = newBucket(budget.stated, budget.periodSeconds, 0);
    return { ...budget, resetsInMs: resetsAtMs, opensInMs: opensAtMs };
  });
  await ensureBudgetsSql.all(db, { time, b: withEnds });
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

const counts = `key, most, stated, period_seconds, window_number, spent, drift, leased, carried,
  opened_at, resets_at, opens_at, learned_at`;

export interface LockedBudget {
  key: string;
  bucket: Bucket;
  nowMs: number;
}

const lockBudgetsSql = sql<CountRow & { now: Date }>`
  SELECT ${counts}, coalesce(:time::timestamptz, clock_timestamp()) AS now
  FROM :schema.budgets WHERE key = ANY (:keys::text[]) ORDER BY key FOR NO KEY UPDATE`;

/** Lock order: by key. */
export async function lockBudgets(tx: Queryable, time: Date | null, keys: string[]): Promise<LockedBudget[]> {
  const rows = await lockBudgetsSql.all(tx, { time, keys });
  return rows.map((row) => ({ key: row.key, bucket: toBucket(row), nowMs: row.now.getTime() }));
}

const writeBudgetsSql = sql<object>`
  UPDATE :schema.budgets b
  SET most = n.most, stated = n.stated, period_seconds = n.period_seconds, window_number = n.window_number,
      spent = n.spent, drift = n.drift, leased = n.leased, carried = n.carried, opened_at = n.opened_at,
      resets_at = n.resets_at, opens_at = n.opens_at, learned_at = n.learned_at
  FROM ${unnest('n', {
    key: 'text',
    most: 'int',
    stated: 'int',
    periodSeconds: 'int',
    windowNumber: 'bigint',
    spent: 'int',
    drift: 'int',
    leased: 'int',
    carried: 'int',
    openedAt: 'timestamptz',
    resetsAt: 'timestamptz',
    opensAt: 'timestamptz',
    learnedAt: 'timestamptz',
  })}
  WHERE b.key = ANY (ARRAY[n.key])`;

export async function writeBudgets(tx: Queryable, budgets: { key: string; bucket: Bucket }[]): Promise<void> {
  const rows = budgets.map(
    ({ key, bucket: { openedAtMs, resetsAtMs, opensAtMs, learnedAtMs, limit, ...counts } }) => ({
      ...counts,
      key,
      most: limit,
      openedAt: new Date(openedAtMs),
      resetsAt: new Date(resetsAtMs),
      opensAt: new Date(opensAtMs),
      learnedAt: learnedAtMs === undefined ? null : new Date(learnedAtMs),
    }),
  );
  await writeBudgetsSql.all(tx, { n: rows });
}

function toBucket(row: CountRow): Bucket {
  return {
    limit: row.most,
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

type BudgetRow = CountRow &
  Listed & { tenant_id: string | null; provider_slug: string; credential_id: string | null; name: string };

const budgetsPage = withinBytes(
  `SELECT ${counts}, tenant_id, provider_slug, credential_id, name FROM :scope.budgets b
   WHERE (:after::text IS NULL OR key > :after)
     AND (:fromKey::text IS NULL OR key > :fromKey) AND (:toKey::text IS NULL OR key < :toKey)
     AND (:credentialId::uuid IS NULL OR credential_id = :credentialId)
   ORDER BY key LIMIT :limit`,
  { columns: ['key', 'name'], order: 'p.key', above: ':limit' },
);
const listBudgetsSql = sql<BudgetRow>`
  SELECT ${counts}, tenant_id, provider_slug, credential_id, name, has_more FROM ${budgetsPage} b
  ORDER BY key`;

/** Keys begin with the provider: filters are index ranges. */
export async function listBudgets(
  db: Queryable,
  { provider, credentialId }: BudgetFilter,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<ListedBudget[]> {
  const rows = await listBudgetsSql.all(db, {
    after,
    // '0' follows '/' in byte order.
    fromKey: provider && `${provider}/`,
    toKey: provider && `${provider}0`,
    credentialId,
    limit,
  });
  return rows.map((row) => ({
    key: row.key,
    tenantId: row.tenant_id ?? undefined,
    provider: row.provider_slug,
    credentialId: row.credential_id ?? undefined,
    name: row.name,
    bucket: toBucket(row),
    has_more: row.has_more,
  }));
}

const deleteBudgetsSql = sql<object>`
  DELETE FROM :schema.budgets WHERE key = ANY (ARRAY(
    SELECT key FROM :schema.budgets WHERE resets_at <= :cutoff ORDER BY resets_at LIMIT :limit
    FOR UPDATE SKIP LOCKED))
  RETURNING 1`;

export async function deleteBudgets(db: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await deleteBudgetsSql.all(db, { cutoff, limit });
  return rows.length;
}
