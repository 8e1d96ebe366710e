import type { Queryable } from './database.ts';
import { sql, unnest } from './sql.ts';

/** `sealed` is nonce, ciphertext and tag. */
export interface Sealed {
  keyId: string;
  sealed: Buffer;
}

export const sealedTables = ['credentials', 'authorizations', 'webhooks'] as const;
export type SealedTable = (typeof sealedTables)[number];

export interface SealedEntry {
  /** Key as text; bytea as hex. */
  name: string;
  tenant_id: string;
  key_id: string;
  sealed: Buffer;
}

const sealedStatements = (
  table: SealedTable,
  key: string,
  keyAsText: string,
  toKey: (text: string) => string,
) => {
  const lockable = `
    SELECT ${keyAsText} AS name, tenant_id, key_id, sealed FROM :schema.${table}
    WHERE key_id <> :keyId AND (:after::text IS NULL OR ${key} > ${toKey(':after')})
    ORDER BY ${key} LIMIT :limit FOR NO KEY UPDATE`;
  return {
    lock: sql<SealedEntry>`${lockable}`,
    lockFree: sql<SealedEntry>`${lockable} SKIP LOCKED`,
    write: sql<object>`
      UPDATE :schema.${table} t SET key_id = n.key_id, sealed = n.sealed
      FROM ${unnest('n', { name: 'text', keyId: 'text', sealed: 'bytea' })}
      WHERE t.${key} = ${toKey('n.name')}`,
    sample: sql<SealedEntry>`
      SELECT ${keyAsText} AS name, tenant_id, key_id, sealed FROM :schema.${table} ORDER BY ${key} DESC
      LIMIT :limit`,
  };
};

const toUuid = (text: string) => `${text}::uuid`;
const toBytes = (text: string) => `decode(${text}, 'hex')`;

const statementsOf = {
  credentials: sealedStatements('credentials', 'id', 'id::text', toUuid),
  authorizations: sealedStatements('authorizations', 'state', `encode(state, 'hex')`, toBytes),
  webhooks: sealedStatements('webhooks', 'connection_id', 'connection_id::text', toUuid),
};

export function lockSealed(
  tx: Queryable,
  table: SealedTable,
  { keyId, after, limit, skip }: { keyId: string; after: string | undefined; limit: number; skip: boolean },
): Promise<SealedEntry[]> {
  const { lock, lockFree } = statementsOf[table];
  return (skip ? lockFree : lock).all(tx, { keyId, after, limit });
}

export async function writeSealed(
  tx: Queryable,
  table: SealedTable,
  rows: ({ name: string } & Sealed)[],
): Promise<void> {
  if (rows.length === 0) return;
  await statementsOf[table].write.all(tx, { n: rows });
}

export function sampleSealed(tx: Queryable, table: SealedTable, limit: number): Promise<SealedEntry[]> {
  return statementsOf[table].sample.all(tx, { limit });
}
