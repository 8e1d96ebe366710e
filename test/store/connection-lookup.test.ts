import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations } from '../../src/store/migrations.inline.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { createPreviousRelease } from '../support/previous-release.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const other = '00000000-0000-4000-8000-000000000002';

/** Rows of either table without an equal row in the other. */
const differences = (schema = 'syncline') =>
  sql(
    `SELECT * FROM (SELECT id, tenant_id, external_id FROM ${schema}.connections) c
     FULL JOIN ${schema}.connection_lookup l ON l.connection_id = c.id
       AND l.tenant_id = c.tenant_id AND l.external_id IS NOT DISTINCT FROM c.external_id
     WHERE c.id IS NULL OR l.connection_id IS NULL`,
  );
const uuid = (n: number) => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`;

beforeAll(() => sql('INSERT INTO tenants (id) VALUES ($1)', [other]));
beforeEach(() => database.empty());

const id = fc.integer({ min: 1, max: 5 }).map(uuid);
const owner = fc.constantFrom(tenant, other);
const externalId = fc.constantFrom(null, '', 'a', 'b');
/** What another service may write. */
const write = fc.oneof(
  fc.tuple(id, owner, externalId).map((values) => ({
    text: `INSERT INTO connections (id, tenant_id, provider_slug, external_id) VALUES ($1, $2, 'github', $3)
      ON CONFLICT (id) DO UPDATE SET tenant_id = excluded.tenant_id, external_id = excluded.external_id`,
    values,
  })),
  fc.tuple(id, externalId).map((values) => ({
    text: 'UPDATE connections SET external_id = $2 WHERE id = $1',
    values,
  })),
  fc.tuple(id, owner).map((values) => ({
    text: 'UPDATE connections SET tenant_id = $2 WHERE id = $1',
    values,
  })),
  fc.tuple(id).map((values) => ({ text: 'DELETE FROM connections WHERE id = $1', values })),
  fc.tuple(id).map((values) => ({
    text: `UPDATE connections SET status = 'paused', metadata = '{}' WHERE id = $1`,
    values,
  })),
);

describe('DB-4: connection_lookup', () => {
  it('DB-4: equals connections after any writes of another service', async () => {
    await database.connect();
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 10 }), async (writes) => {
        for (const { text, values } of writes) await sql(text, values);
        expect(await differences()).toEqual([]);
      }),
      { numRuns: sized(300, 60) },
    );
  });

  it('DB-4: follows a new id and TRUNCATE', async () => {
    const connection = await database.connect();
    await sql('UPDATE connections SET id = $2 WHERE id = $1', [connection, uuid(1)]);
    expect(await differences()).toEqual([]);
    await sql('TRUNCATE connections CASCADE');
    expect(await differences()).toEqual([]);
  });

  it('DB-4: follows rows that replication or a bulk load writes, also if it writes both tables', async () => {
    const session = await database.session();
    await session.query('SET search_path TO syncline; SET session_replication_role = replica');
    await session.query(
      `INSERT INTO connections (id, tenant_id, provider_slug, external_id)
       SELECT ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid, '${tenant}', 'github', 'a' || n
       FROM generate_series(1, 3) n`,
    );
    expect(await differences()).toEqual([]);
    await session.query(
      `INSERT INTO connection_lookup VALUES ('${uuid(1)}', '${tenant}', 'a1'), ('${uuid(2)}', '${tenant}', 'a2')`,
    );
    await session.query(`UPDATE connections SET external_id = 'b', tenant_id = '${other}'`);
    expect(await differences()).toEqual([]);
  });

  it('DB-4: an update that does not name tenant or external id writes no row of it', async () => {
    const connection = await database.connect();
    const version = () => sql('SELECT xmin::text, ctid::text FROM connection_lookup');
    const before = await version();
    await sql(`UPDATE connections SET metadata = '{}', status = 'paused' WHERE id = $1`, [connection]);
    await sql('UPDATE connections SET tenant_id = tenant_id, external_id = external_id');
    expect(await version()).toEqual(before);
  });

  it('isolation: a wrong row never shows the connection of another tenant', async () => {
    const connection = await database.connect();
    await sql('UPDATE connection_lookup SET tenant_id = $1', [other]);
    const engine = database.engine();
    for (const tenantId of [tenant, other]) {
      const { items } = await engine.as({ actor: 'test', tenantId }).connections.list();
      expect(items).toEqual([]);
    }
    expect((await engine.connections.get(connection)).tenantId).toBe(tenant);
  });

  it('tenants: a tenant with connections cannot be deleted, and an unknown tenant gets none', async () => {
    const owned = await database.connect();
    await expect(sql('DELETE FROM tenants WHERE id = $1', [tenant])).rejects.toMatchObject({ code: '23503' });
    await expect(
      sql('UPDATE connections SET tenant_id = $2 WHERE id = $1', [owned, uuid(9)]),
    ).rejects.toMatchObject({ code: '23503' });
    await expect(
      sql(`INSERT INTO connections (tenant_id, provider_slug) VALUES ($1, 'github')`, [uuid(9)]),
    ).rejects.toMatchObject({ code: '23503' });
  });
});

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

  it('upgrade: the fill copies several batches, keeps newer rows and can be repeated', async () => {
    const schema = 'filled';
    await createPreviousRelease(engine(schema).config.database, sql);
    await sql(
      `INSERT INTO filled.connections (tenant_id, provider_slug, external_id)
       SELECT $1, 'github', 'many ' || n FROM generate_series(1, 4500) n`,
      [await northwind(schema)],
    );
    await upTo(schema, 14);
    // The trigger copies rows before the fill does.
    await sql(`UPDATE filled.connections SET external_id = 'renamed' WHERE external_id = 'many 7'`);
    await upTo(schema, 15);
    expect(await differences(schema)).toEqual([]);
    const session = await database.session();
    await session.query('SET search_path TO filled');
    await session.query('CALL fill_connection_lookup()');
    expect(await differences(schema)).toEqual([]);
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
