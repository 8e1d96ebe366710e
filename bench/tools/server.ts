import { mkdtempSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../dist/dev/postgres.js';
import { progress, whole } from './report.ts';

/** Prints what `run` returns, on a Postgres of its own that keeps its promises and is gone afterwards. */
export async function onPostgres(
  settings: Record<string, string>,
  run: (client: pg.Client, url: string) => Promise<string>,
): Promise<void> {
  const started = performance.now();
  progress('starting Postgres');
  const postgres = await startEmbeddedPostgres({
    folder: mkdtempSync(join(tmpdir(), 'syncline-bench-')),
    keep: false,
    settings,
  });
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted = true;
      void postgres.stop().finally(() => process.exit(130));
    });
  }
  const client = new pg.Client({ connectionString: postgres.url });
  client.on('error', () => {});
  try {
    await client.connect();
    console.log(await run(client, postgres.url));
    progress(`done in ${whole((performance.now() - started) / 1000)} s`);
  } catch (error) {
    // What was under way when Postgres was taken away had to fail.
    if (!interrupted) throw error;
  } finally {
    await client.end().catch(() => {});
    await postgres.stop();
  }
}

/** What the figures were measured on. */
export async function facts(client: pg.Client, settings: Record<string, string>): Promise<string> {
  const { rows } = await client.query<{ version: string; fsync: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync`,
  );
  const shown = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return [
    `Node ${process.versions.node}`,
    `Postgres ${rows[0]?.version} (fsync ${rows[0]?.fsync}, ${shown.join(', ')})`,
    `${availableParallelism()} cores (${cpus()[0]?.model.trim()})`,
    `${whole(totalmem() / 2 ** 30)} GB of memory`,
  ].join(', ');
}
