import { describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations } from '../../src/store/migrations.inline.ts';
import { useDatabase } from '../support/database.ts';
import { lookupDifferences } from '../support/lookup-differences.ts';
import { createPreviousRelease } from '../support/previous-release.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;
const differences = (schema: string) => lookupDifferences(database, schema);

const uuid = (n: number) => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`;

describe('upgrade: connection_lookup', () => {
  const engine = (schema: string) => database.engine({ database: { url: database.url, schema } });
  const upTo = (schema: string, version: number) =>
    migrate(engine(schema).config.database, {
      migrations: knownMigrations.filter((migration) => migration.version <= version),
      ports: systemPorts,
      onProgress: () => {},
    });
  const northwind = async (schema: string) => {
    const [row] = await sql<{ id: string }>(`SELECT id FROM ${schema}.tenants WHERE name = 'Northwind'`);
    return row?.id as string;
  };

  it.each([11, 12])(
    'upgrade: a process that started on version %i lists and searches on every version',
    async (first) => {
      const schema = `version_${first}`;
      const syncline = engine(schema);
      await createPreviousRelease(syncline.config.database, sql);
      await upTo(schema, first);
      await syncline.ready();
      const tenantId = await northwind(schema);
      const scoped = syncline.as({ actor: 'test', tenantId });
      const seen = async () => ({
        all: (await syncline.connections.list({ limit: 100 })).items.length,
        own: (await scoped.connections.list({ limit: 100 })).items.length,
        ofTenant: (await syncline.connections.list({ tenantId, limit: 100 })).items.length,
        found: (await scoped.connections.list({ search: 'in ' })).items.map((item) => item.externalId),
        everywhere: (await syncline.connections.list({ search: 'in ' })).items.map((item) => item.externalId),
        counted: (await scoped.stats.overview()).connections.total.count,
      });
      const before = await seen();
      expect(before).toMatchObject({ all: 14, own: 13, ofTenant: 13, found: ['in backoff'], counted: 13 });
      for (const { version } of knownMigrations.filter((migration) => migration.version > first)) {
        await upTo(schema, version);
        expect(await seen()).toEqual(before);
      }
      expect(await differences(schema)).toEqual([]);
    },
  );

  /** Version 14 with `count` connections, whose ids are in the order of their numbers. */
  async function createUnfilled(schema: string, count: number): Promise<string> {
    await createPreviousRelease(engine(schema).config.database, sql);
    const tenantId = await northwind(schema);
    await sql(
      `INSERT INTO ${schema}.connections (id, tenant_id, provider_slug, external_id)
       SELECT ('${uuid(0).slice(0, 24)}' || lpad(n::text, 12, '0'))::uuid, $1, 'github', 'many ' || n
       FROM generate_series(1, $2::int) n`,
      [tenantId, count],
    );
    await upTo(schema, 14);
    return tenantId;
  }
  /** A session with an open transaction whose change makes the fill wait. */
  async function holdFill(schema: string, change: string) {
    const holder = await database.session();
    await holder.query(`SET search_path TO ${schema}; BEGIN; ${change}`);
    const filled = upTo(schema, 15);
    filled.catch(() => {});
    await until('the fill waits', async () => {
      const waiting = await sql(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND query LIKE '%CALL fill_connection_lookup%'`,
      );
      return waiting.length > 0;
    });
    return { holder, filled };
  }

  it('upgrade: the fill copies several batches and can be repeated', async () => {
    await createUnfilled('filled', 4500);
    await sql(`UPDATE filled.connections SET external_id = 'renamed' WHERE external_id = 'many 7'`);
    await upTo('filled', 15);
    expect(await differences('filled')).toEqual([]);
    const session = await database.session();
    await session.query('SET search_path TO filled');
    await session.query('CALL fill_connection_lookup()');
    expect(await differences('filled')).toEqual([]);
  });

  it.each([
    ['changed', `UPDATE connections SET external_id = 'newer' WHERE id = '${uuid(3000)}'`],
    ['deleted', `DELETE FROM connections WHERE id = '${uuid(3000)}'`],
    ['moved ahead', `UPDATE connections SET id = '${uuid(9000)}' WHERE id = '${uuid(3000)}'`],
    ['moved back', `UPDATE connections SET id = '${uuid(0)}' WHERE id = '${uuid(3000)}'`],
  ])('upgrade: the fill copies connections exactly while one that it reads is %s', async (what, change) => {
    const schema = `during_${what.replaceAll(' ', '_')}`;
    const tenantId = await createUnfilled(schema, 7000);
    const { holder, filled } = await holdFill(schema, change);
    // Batches 1 (copied), 2 (its snapshot is older than these writes) and 3 (not read yet).
    const write = (text: string, ...values: string[]) =>
      sql(text.replace('connections', `${schema}.connections`), values);
    // A delete waits for the batch that has locked its row.
    const writes = [1000, 3500, 5000].map(async (n) => {
      await write('DELETE FROM connections WHERE id = $1', uuid(n));
      await write(`UPDATE connections SET external_id = 'renamed' WHERE id = $1`, uuid(n + 1));
      await write(`UPDATE connections SET tenant_id = md5('contoso')::uuid WHERE id = $1`, uuid(n + 2));
      await write(
        `INSERT INTO connections (id, tenant_id, provider_slug) VALUES ($1, $2, 'github')`,
        uuid(n),
        tenantId,
      );
    });
    await Promise.all([writes[0], writes[2]]);
    await holder.query('COMMIT');
    await Promise.all([filled, ...writes]);
    expect(await differences(schema)).toEqual([]);
  });

  it('upgrade: lists answer the same while the fill runs and after it', async () => {
    const schema = 'half_filled';
    const tenantId = await createUnfilled(schema, 6000);
    const syncline = engine(schema);
    await syncline.ready();
    const scoped = syncline.as({ actor: 'test', tenantId });
    const found = async () => (await scoped.connections.list({ search: 'many 5' })).items.length;
    const before = await found();
    const last = async () => (await scoped.connections.list({ search: 'many 5999' })).items.length;
    const { holder, filled } = await holdFill(
      schema,
      `UPDATE connections SET metadata = metadata, external_id = 'newer' WHERE id = '${uuid(3000)}'`,
    );
    expect(await last()).toBe(1);
    expect(await found()).toBe(before);
    await holder.query('COMMIT');
    await filled;
    expect(await last()).toBe(1);
    await syncline.migrate();
    expect(await last()).toBe(1);
    expect(await found()).toBe(before);
  });

  it('upgrade: lists answer the same while `migrate` runs', async () => {
    const schema = 'meanwhile';
    const syncline = engine(schema);
    await createPreviousRelease(syncline.config.database, sql);
    await sql(
      `INSERT INTO meanwhile.connections (tenant_id, provider_slug) SELECT $1, 'github' FROM generate_series(1, 6000)`,
      [await northwind(schema)],
    );
    await upTo(schema, 12);
    await syncline.ready();
    const scoped = syncline.as({ actor: 'test', tenantId: await northwind(schema) });
    let isDone = false;
    const migrated = syncline.migrate().finally(() => {
      isDone = true;
    });
    while (!isDone) expect((await scoped.connections.list({ search: 'in ' })).items).toHaveLength(1);
    await migrated;
    expect((await scoped.connections.list({ search: 'in ' })).items).toHaveLength(1);
    expect(await differences(schema)).toEqual([]);
  });
});
