import type { Violation } from './check.ts';
import type { Sql } from './history.ts';

/** The items of a provider for a connection: exactly these must be stored, each once. */
export interface Truth {
  connectionId: string;
  items: readonly string[];
  keyOf: (payload: unknown) => string;
}

export const truthNames = {
  missing: 'every item of the provider is stored',
  doubled: 'no item of the provider is stored twice',
  unknown: 'every stored item exists at the provider',
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
  const keysWith = (matches: (count: number) => boolean) =>
    [...counts].filter(([, count]) => matches(count)).map(([key]) => key);
  const toViolations = (invariant: string, keys: string[]): Violation[] =>
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
    ...toViolations(
      truthNames.missing,
      keysWith((count) => count === 0),
    ),
    ...toViolations(
      truthNames.doubled,
      keysWith((count) => count > 1),
    ),
    ...toViolations(truthNames.unknown, unknown),
  ];
}
