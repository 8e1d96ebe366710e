import pg from 'pg';
import type { Syncline } from '../syncline.ts';

export interface DemoDatabase {
  /** Quoted identifier. */
  schema: string;
  client: pg.Client;
}

/** For rows that the API cannot create. */
export async function withDemoDatabase<T>(
  { config }: Syncline,
  work: (database: DemoDatabase) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: config.database.url });
  // The running query is rejected, too.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work({ client, schema: pg.escapeIdentifier(config.database.schema) });
  } finally {
    await client.end();
  }
}
