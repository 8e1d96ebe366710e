import { beforeAll, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations, type Migration } from '../../src/store/migrations.inline.ts';
import { previousVersion } from '../../src/store/schema-version.ts';
import { useDatabase } from '../support/database.ts';
import { createPreviousRelease, futureMigrations } from '../support/previous-release.ts';

const database = useDatabase();
const { sql } = database;
const engine = (schema: string) => database.engine({ database: { url: database.url, schema } });

const createFilled = (schema: string) => createPreviousRelease(engine(schema).config.database, sql);

const upgrade = (schema: string, later: readonly Migration[] = []) =>
  migrate(engine(schema).config.database, {
    migrations: [...knownMigrations, ...futureMigrations, ...later],
    ports: systemPorts,
    onProgress: () => {},
  });

const laterColumns = `ARRAY['schedule', 'of_the_future']`;

/** By table, each row as JSON without the columns of later releases. */
async function contentOf(schema: string): Promise<Record<string, string[]>> {
  const tables = await sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY 1`,
    [schema],
  );
  const content: Record<string, string[]> = {};
  for (const { name } of tables.filter((table) => table.name !== 'schema_migrations')) {
    const rows = await sql<{ row: string }>(
      `SELECT (to_jsonb(t) - ${laterColumns})::text AS row FROM ${schema}.${name} t ORDER BY 1`,
    );
    content[name] = rows.map(({ row }) => row);
  }
  return content;
}

describe('upgrade from the previous release', () => {
  beforeAll(() => createFilled('previous'));

  it('upgrade: the fixture has rows in every table, and every status', async () => {
    const content = await contentOf('previous');
    expect(Object.entries(content).filter(([, rows]) => rows.length === 0)).toEqual([]);
    const statuses = await sql<{ status: string }>(
      `SELECT DISTINCT 'connection ' || status AS status FROM previous.connections
       UNION SELECT DISTINCT 'job ' || status FROM previous.sync_jobs ORDER BY 1`,
    );
    expect(statuses.map(({ status }) => status)).toEqual([
      'connection active',
      'connection disabled',
      'connection needs_auth',
      'connection paused',
      'job cancelled',
      'job completed',
      'job failed',
      'job queued',
      'job running',
      'job succeeded',
    ]);
    const [{ blocked } = {}] = await sql<{ blocked: number }>(
      'SELECT count(*)::int AS blocked FROM previous.sync_jobs WHERE blocked',
    );
    expect(blocked).toBe(2);
  });

  it('upgrade: this release works on the data of the previous one', async () => {
    const syncline = engine('previous');
    await syncline.migrate();
    await syncline.ready();
    // never run, due, invalid metadata, no metadata, and the connection of the second tenant.
    expect(await syncline.tick()).toMatchObject({ scheduled: 5 });
    expect((await syncline.connections.list({ limit: 100 })).items).toHaveLength(14);
    const reader = await syncline.signals.list({ limit: 100 });
    expect(reader.items).toHaveLength(12);
  });

  it('upgrade: several migrations are applied in order, once, and keep every row', async () => {
    await createFilled('kept');
    const before = await contentOf('kept');
    const { applied, version } = await upgrade('kept');
    const later = [...knownMigrations, ...futureMigrations].filter(({ version: v }) => v > previousVersion);
    expect(applied).toEqual(later.map(({ name }) => name));
    expect(version).toBe(futureMigrations.at(-1)?.version);
    const { of_the_future: added, connection_lookup: lookup, ...after } = await contentOf('kept');
    expect(after).toEqual(before);
    expect(added).toHaveLength(before['connections']?.length as number);
    expect(lookup).toHaveLength(before['connections']?.length as number);
    expect(await upgrade('kept')).toEqual({ schema: 'kept', applied: [], steps: [], version });
  });

  it('upgrade: a failing migration changes nothing, also of those before it', async () => {
    await engine('failing').migrate();
    const failing = { version: 9999, name: 'failing', sql: 'SELECT 1 / 0' };
    await expect(upgrade('failing', [failing])).rejects.toThrow('division by zero');
    const columns = await sql(
      `SELECT FROM information_schema.columns WHERE table_schema = 'failing' AND column_name = 'of_the_future'`,
    );
    expect(columns).toEqual([]);
    expect(await sql('SELECT name FROM failing.schema_migrations ORDER BY version')).toEqual(
      knownMigrations.map(({ name }) => ({ name })),
    );
  });

  it('upgrade: a newer schema is refused by this release, and its running processes continue', async () => {
    await createFilled('newer');
    const running = engine('newer');
    await running.migrate();
    await running.ready();
    await upgrade('newer');
    expect(await running.tick()).toMatchObject({ scheduled: 5 });
    await expect(engine('newer').start()).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
  });
});
