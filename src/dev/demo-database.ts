import pg from 'pg';
import type { Queryable } from '../store/database.ts';
import { createLookupState, lookupOf } from '../store/lookup.ts';
import { tablesOf } from '../store/scope.ts';
import type { Syncline } from '../syncline.ts';

/** For rows that the API cannot create. */
export async function withDemoDatabase<T>(
  { config }: Syncline,
  work: (database: Queryable) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: config.database.url });
  // The running query is rejected, too.
  client.on('error', () => {});
  await client.connect();
  const schema = pg.escapeIdentifier(config.database.schema);
  const tables = tablesOf(schema);
  try {
    return await work({
      schema,
      tables,
      lookup: lookupOf(createLookupState(), tables, tables),
      query: async <Row extends object>(text: string, values?: unknown[]) =>
        (await client.query<Row>(text, values)).rows,
    });
  } finally {
    await client.end();
  }
}
