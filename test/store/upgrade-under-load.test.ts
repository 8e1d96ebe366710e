import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations } from '../../src/store/migrations.inline.ts';
import { previousVersion } from '../../src/store/schema-version.ts';
import { useDatabase } from '../support/database.ts';
import { createPreviousRelease, fillPreviousRelease } from '../support/previous-release.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;
const schema = 'large';
const size = {
  connections: sized(100_000, 2000),
  jobs: sized(1_000_000, 20_000),
  signals: sized(1_000_000, 20_000),
};

/** As docs/guides/upgrade.md states it: a writer behind the migration waits no longer. */
const lockTimeout = '5s';

const connection = `md5('many ' || $1::int)::uuid`;
const writes = [
  `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type)
   SELECT tenant_id, provider_slug, id, 'incremental' FROM connections WHERE id = ${connection} ON CONFLICT DO NOTHING`,
  `UPDATE sync_jobs SET status = 'running', started_at = now() WHERE connection_id = ${connection} AND status = 'queued'`,
  `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
   SELECT tenant_id, provider_slug, id, 'issue.opened', now(), '{}' FROM connections WHERE id = ${connection}`,
  `UPDATE connections SET metadata = patch_sync(metadata, '{"cursor": 8}') WHERE id = ${connection}`,
  `UPDATE sync_jobs SET status = 'succeeded', finished_at = now() WHERE connection_id = ${connection} AND status = 'running'`,
];

interface Writer {
  statements: number;
  failures: string[];
  stop(): Promise<void>;
}

/** Each statement is a transaction of its own. */
function startWriter(client: pg.Client, first: number): Writer {
  let isStopped = false;
  const writer: Writer = {
    statements: 0,
    failures: [],
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
  const running = (async () => {
    await client.query(`SET search_path TO ${schema}; SET lock_timeout = '${lockTimeout}'`);
    for (let n = first; !isStopped; n = (n % size.connections) + 1)
      for (const text of writes) {
        await client.query(text, [n]).catch((error: Error) => writer.failures.push(error.message));
        writer.statements++;
      }
  })();
  return writer;
}

describe('upgrade of a large database', () => {
  it('upgrade: writers continue during the migration, and none waits for a lock longer than the lock timeout', async () => {
    const { config } = database.engine({ database: { url: database.url, schema } });
    await createPreviousRelease(config.database, sql);
    await fillPreviousRelease(schema, sql, size);
    const sessions = await Promise.all([database.session(), database.session()]);
    const writers = sessions.map((client, i) => startWriter(client, 1 + i * 1000));
    const haveWritten = (count: number) =>
      until(`each writer has sent ${count} statements`, () =>
        writers.every(({ statements }) => statements >= count),
      );
    await haveWritten(20);

    const { steps } = await migrate(config.database, { ports: systemPorts, onProgress: () => {} });

    await haveWritten(Math.max(...writers.map(({ statements }) => statements)) + 20);
    await Promise.all(writers.map((writer) => writer.stop()));
    expect(writers.flatMap(({ failures }) => failures)).toEqual([]);
    const pending = knownMigrations.filter(({ version }) => version > previousVersion);
    expect(steps).toEqual(pending.map(({ name }) => ({ name, durationMs: expect.any(Number) })));
  });
});
