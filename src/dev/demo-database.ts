import pg from 'pg';
import type { Syncline } from '../syncline.ts';

/** Runs SQL on the engine's tables; `schema` is quoted, ready to stand in a statement. */
export interface DemoDatabase {
  schema: string;
  client: pg.Client;
}

/** A session of its own on the engine's database, for what the demo writes that no caller of the engine could. */
export async function withDemoDatabase<T>(
  { config }: Syncline,
  work: (database: DemoDatabase) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: config.database.url });
  // A session that breaks reports it here as well as to the statement that waits on it.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work({ client, schema: pg.escapeIdentifier(config.database.schema) });
  } finally {
    await client.end();
  }
}
