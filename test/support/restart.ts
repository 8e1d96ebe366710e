import type { EmbeddedPostgres } from '../../src/dev/postgres.ts';
import { until } from './until.ts';

/** Retries: backends of a killed postmaster may hold its data folder, and a connection its port. */
export async function restartPostgres(start: () => Promise<EmbeddedPostgres>): Promise<EmbeddedPostgres> {
  let server: EmbeddedPostgres | undefined;
  await until('Postgres has restarted', async () => {
    server = await start().catch(() => undefined);
    return server !== undefined;
  });
  return server as EmbeddedPostgres;
}
