import type { Queryable } from './database.ts';

/** `sealed` is nonce, ciphertext and tag. */
export interface Sealed {
  keyId: string;
  sealed: Buffer;
}

/** Tables with encrypted rows, and their key columns. */
const keyColumns = { credentials: 'id', authorizations: 'state', webhooks: 'connection_id' } as const;

export type SealedTable = keyof typeof keyColumns;
export const sealedTables = Object.keys(keyColumns) as SealedTable[];

export interface SealedEntry {
  /** Key as text; bytea as hex. */
  name: string;
  tenant_id: string;
  key_id: string;
  sealed: Buffer;
}

const asText = (column: string) => (column === 'state' ? `encode(state, 'hex')` : `${column}::text`);
const fromText = (column: string, text: string) =>
  column === 'state' ? `decode(${text}, 'hex')` : `${text}::uuid`;

/** Rows encrypted under another key. */
export function lockSealed(
  tx: Queryable,
  table: SealedTable,
  { keyId, after, limit, skip }: { keyId: string; after: string | undefined; limit: number; skip: boolean },
): Promise<SealedEntry[]> {
  const column = keyColumns[table];
  return tx.query<SealedEntry>(
    `SELECT ${asText(column)} AS name, tenant_id, key_id, sealed FROM ${tx.schema}.${table}
     WHERE key_id <> $1 AND ($2::text IS NULL OR ${column} > ${fromText(column, '$2')})
     ORDER BY ${column} LIMIT $3 FOR NO KEY UPDATE ${skip ? 'SKIP LOCKED' : ''}`,
    [keyId, after, limit],
  );
}

/** `generation` and `updated_at` stay. */
export async function writeSealed(
  tx: Queryable,
  table: SealedTable,
  rows: ({ name: string } & Sealed)[],
): Promise<void> {
  if (rows.length === 0) return;
  const column = keyColumns[table];
  await tx.query(
    `UPDATE ${tx.schema}.${table} t SET key_id = n.key_id, sealed = n.sealed
     FROM unnest($1::text[], $2::text[], $3::bytea[]) AS n (name, key_id, sealed)
     WHERE t.${column} = ${fromText(column, 'n.name')}`,
    [rows.map(({ name }) => name), rows.map(({ keyId }) => keyId), rows.map(({ sealed }) => sealed)],
  );
}

export function sampleSealed(tx: Queryable, table: SealedTable, limit: number): Promise<SealedEntry[]> {
  const column = keyColumns[table];
  return tx.query<SealedEntry>(
    `SELECT ${asText(column)} AS name, tenant_id, key_id, sealed FROM ${tx.schema}.${table} ORDER BY ${column} DESC LIMIT $1`,
    [limit],
  );
}
