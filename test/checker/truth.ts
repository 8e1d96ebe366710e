import type { Violation } from './check.ts';
import type { Sql } from './history.ts';

/** What a provider has for a connection: each item must be stored, once, and nothing else. */
export interface Truth {
  connectionId: string;
  /** The keys of its items. */
  items: readonly string[];
  /** Which item a stored payload is of. */
  keyOf: (payload: unknown) => string;
}

export const truthNames = {
  missing: 'every item of the provider is stored',
  doubled: 'no item of the provider is stored twice',
  unknown: 'nothing is stored that the provider does not have',
};

export async function compareWithTruth(sql: Sql, schema: string, truth: Truth): Promise<Violation[]> {
  const { connectionId, items, keyOf } = truth;
  const rows = await sql<{ payload: string }>(
    `SELECT payload::text AS payload FROM "${schema.replaceAll('"', '""')}".signals WHERE connection_id = $1`,
    [connectionId],
  );
  const counts = new Map(items.map((item) => [item, 0]));
  const unknown: string[] = [];
  for (const { payload } of rows) {
    const key = keyOf(JSON.parse(payload));
    const count = counts.get(key);
    if (count === undefined) unknown.push(key);
    else counts.set(key, count + 1);
  }
  const keysWith = (isSo: (count: number) => boolean) =>
    [...counts].filter(([, count]) => isSo(count)).map(([key]) => key);
  const told = (invariant: string, keys: string[]): Violation[] =>
    keys.length === 0
      ? []
      : [
          {
            invariant,
            connectionId,
            detail: `${keys.length} of ${items.length}: ${keys.slice(0, 10).join(', ')}`,
          },
        ];
  return [
    ...told(
      truthNames.missing,
      keysWith((count) => count === 0),
    ),
    ...told(
      truthNames.doubled,
      keysWith((count) => count > 1),
    ),
    ...told(truthNames.unknown, unknown),
  ];
}
