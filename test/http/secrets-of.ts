import type { TestDatabase } from '../support/database.ts';
import type { Belongings } from './tenant-world.ts';

const uuids = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;

/** Finds a tenant's ids and texts in any text, also encoded ones. */
export type Finder = (text: string) => Set<string>;

/** All stored rows as text: `table row`. */
export async function allRows({ sql }: TestDatabase): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'syncline'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`,
  );
  const rowsOf = tables.map(({ name }) => `SELECT '${name} ' || t::text AS row FROM syncline.${name} t`);
  return (await sql<{ row: string }>(rowsOf.join(' UNION ALL '))).map(({ row }) => row);
}

/** Recognizes a tenant's texts by its marker and its ids by their absence from the other tenant's rows. */
export async function finderOf(
  database: TestDatabase,
  owner: Belongings,
  other: Belongings,
): Promise<Finder> {
  const rows = await allRows(database);
  const idsIn = (tenant: Belongings) =>
    new Set(rows.filter((row) => row.includes(tenant.tenantId)).flatMap((row) => row.match(uuids) ?? []));
  const ids = idsIn(owner);
  for (const id of idsIn(other)) ids.delete(id);
  const marked = new RegExp(`${owner.marker}[\\w-]*`, 'g');
  return (text) => {
    const readable = withDecoded(text);
    const found = (readable.match(uuids) ?? []).filter((id) => ids.has(id));
    return new Set([...found, ...(readable.match(marked) ?? [])]);
  };
}

/** Appends decoded base64url words, since cursors encode ids and names. */
function withDecoded(text: string): string {
  const encoded = text.match(/[\w-]{12,}/g) ?? [];
  return [text, ...encoded.map((word) => Buffer.from(word, 'base64url').toString())].join('\n').toLowerCase();
}
