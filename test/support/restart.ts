import type { EmbeddedPostgres } from '../../src/dev/postgres.ts';
import { until } from './until.ts';

/**
 * The children of a postmaster that was killed may outlive it by a moment, in which its data folder is taken; and its port by somebody
 * else's connection.
 */
export async function restarted(start: () => Promise<EmbeddedPostgres>): Promise<EmbeddedPostgres> {
  let server: EmbeddedPostgres | undefined;
  await until('Postgres is back', async () => {
    server = await start().catch(() => undefined);
    return server !== undefined;
  });
  return server as EmbeddedPostgres;
}
