import { describe, expect, it } from 'vitest';
import { createSyncline, systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations, type Migration } from '../../src/store/migrations.inline.ts';
import { silent, useDatabase } from '../support/database.ts';
import { futureMigrations } from '../support/previous-release.ts';

const database = useDatabase();
const engine = (schema: string) => database.engine({ database: { url: database.url, schema } });

describe('migrations', () => {
  it('migrate: ten concurrent migrations apply each migration once', async () => {
    const engines = Array.from({ length: 10 }, () => engine('concurrent'));
    const results = await Promise.all(engines.map((syncline) => syncline.migrate()));
    expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1);
    expect(new Set(results.map((result) => result.version)).size).toBe(1);
    await engines[0]?.ready();
  });

  it('migrate: a second migration changes nothing', async () => {
    const first = await engine('again').migrate();
    const second = await engine('again').migrate();
    expect(first.applied).toEqual(knownMigrations.map(({ name }) => name));
    expect(first.steps.map(({ name }) => name)).toEqual(first.applied);
    expect(second).toEqual({ ...first, applied: [], steps: [] });
  });

  it.each(['Mixed Case', 'with "quotes"', 'drop;--', 'ünïcode', 'select'])(
    'migrate: any schema name works: %s',
    async (schema) => {
      const syncline = engine(schema);
      await syncline.migrate();
      await syncline.providers.register({ slug: 'github' });
      const { id: tenantId } = await syncline.tenants.create({ name: 't' });
      const { id } = await syncline.connections.create({ tenantId, provider: 'github' });
      expect(await syncline.tick()).toMatchObject({ scheduled: 1 });
      const quoted = `"${schema.replaceAll('"', '""')}"`;
      await database.sql(`UPDATE ${quoted}.sync_jobs SET status = 'succeeded', finished_at = now()`);
      expect((await syncline.connections.get(id)).lastEndedAt).toBeInstanceOf(Date);
    },
  );

  it('migrate: engines with different schemas in one database are independent', async () => {
    const [one, two] = [engine('shard_one'), engine('shard_two')];
    await Promise.all([one.migrate(), two.migrate()]);
    await one.providers.register({ slug: 'github' });
    const { id: tenantId } = await one.tenants.create({ name: 't' });
    await one.connections.create({ tenantId, provider: 'github' });
    expect(await two.tick()).toMatchObject({ scheduled: 0 });
    expect(await one.tick()).toMatchObject({ scheduled: 1 });
  });

  it('migrate: a newer schema is rejected with a hint, also by start', async () => {
    await engine('newer').migrate();
    await database.sql(`INSERT INTO newer.schema_migrations (version, name) VALUES (9999, '9999_future')`);
    const refusal = { code: 'SCHEMA_NEWER', hint: expect.stringContaining('Upgrade Syncline') };
    await expect(engine('newer').migrate()).rejects.toMatchObject(refusal);
    await expect(engine('newer').start()).rejects.toMatchObject(refusal);
  });

  it.each([0, 9])(
    'migrate: a schema of unreleased version %i is refused and not changed',
    async (version) => {
      const schema = `older_${version}`;
      await engine(schema).migrate();
      await database.sql(`DELETE FROM ${schema}.schema_migrations`);
      if (version > 0)
        await database.sql(`INSERT INTO ${schema}.schema_migrations (version, name) VALUES ($1, 'old')`, [
          version,
        ]);
      const refusal = {
        code: 'SCHEMA_OUTDATED',
        message: `The schema "${schema}" is at version ${version}, from before the first release: recreate it.`,
        hint: expect.stringMatching(/^Drop the schema, then run `syncline migrate`\. Nothing was changed\.$/),
      };
      await expect(engine(schema).migrate()).rejects.toMatchObject(refusal);
      await expect(engine(schema).start()).rejects.toMatchObject(refusal);
      expect(await database.sql(`SELECT version FROM ${schema}.schema_migrations`)).toEqual(
        version > 0 ? [{ version }] : [],
      );
    },
  );

  it('migrate: a schema made by the last development version stays usable', async () => {
    await engine('development').migrate();
    await database.sql(
      `UPDATE development.schema_migrations SET name = '0010_audit';
       INSERT INTO development.schema_migrations (version, name) SELECT v, 'old' FROM generate_series(1, 9) v`,
    );
    expect(await engine('development').migrate()).toMatchObject({
      applied: [],
      version: knownMigrations.at(-1)?.version,
    });
    await engine('development').ready();
  });

  it('migrate: start rejects a missing schema with a hint', async () => {
    await expect(engine('nowhere').start()).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      hint: expect.stringContaining('syncline migrate'),
    });
  });

  it('migrate: a failed migration is rolled back', async () => {
    await database.sql('CREATE SCHEMA half');
    const { config } = engine('half');
    const failing = { version: 11, name: '0011_failing', sql: 'SELECT 1 / 0' };
    const migrations = [...knownMigrations.slice(0, 1), failing];
    await expect(
      migrate(config.database, { ports: systemPorts, onProgress: () => {}, migrations }),
    ).rejects.toThrow('division by zero');
    expect(await database.sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'half'`)).toEqual([]);
  });

  it.each([
    [
      'foreign',
      'CREATE TABLE foreign.tenants (id int); CREATE VIEW foreign.connections AS SELECT 1',
      'connections, tenants',
    ],
    [
      'rails',
      'CREATE TABLE rails.schema_migrations (version varchar PRIMARY KEY); CREATE TABLE rails.connections (id int)',
      'connections, schema_migrations',
    ],
    [
      'versions',
      `CREATE TABLE versions.schema_migrations (version int PRIMARY KEY, name text, applied_at timestamptz);
       CREATE TABLE versions.connections (id int); INSERT INTO versions.schema_migrations VALUES (17, 'users')`,
      'connections, schema_migrations',
    ],
    [
      'others',
      `CREATE SEQUENCE others.feed_position; CREATE DOMAIN others.signals AS int;
       CREATE TABLE others.users (id int); CREATE INDEX idx_events_key ON others.users (id);
       CREATE FUNCTION others.parse_instant(value text) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'`,
      'feed_position, idx_events_key, parse_instant, signals',
    ],
  ])(
    'DB-5: rejects a schema with tables of another program and changes nothing (%s)',
    async (schema, tables, names) => {
      await database.sql(`CREATE SCHEMA "${schema}"; ${tables.replaceAll(`${schema}.`, `"${schema}".`)}`);
      const relations = () =>
        database.sql('SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY 1', [
          `"${schema}"`,
        ]);
      const before = await relations();
      const refusal = {
        code: 'SCHEMA_FOREIGN',
        message: `The schema "${schema}" contains another program's tables or other objects named like Syncline's: ${names}.`,
        hint: expect.stringContaining('SYNCLINE_DATABASE_SCHEMA'),
      };
      await expect(engine(schema).migrate()).rejects.toMatchObject(refusal);
      await expect(engine(schema).ready()).rejects.toMatchObject(refusal);
      await expect(engine(schema).start()).rejects.toMatchObject(refusal);
      expect(await relations()).toEqual(before);
    },
  );

  it.each([
    ['table', 'CREATE TABLE {schema}.added (id int)'],
    ['index', 'CREATE TABLE {schema}.users (id int); CREATE INDEX added_key ON {schema}.users (id)'],
  ])(
    "DB-5: an upgrade refuses another program's %s of a new name and changes nothing",
    async (kind, text) => {
      const schema = `upgrade_${kind}`;
      await engine(schema).migrate();
      await database.sql(text.replaceAll('{schema}', schema));
      const version = (knownMigrations.at(-1)?.version ?? 0) + 1;
      const added = {
        version: version + 1,
        name: 'added',
        sql: 'DROP INDEX idx_events_key;\nCREATE INDEX idx_events_key ON events (kind);\nCREATE TABLE added (id int);\nCREATE INDEX added_key ON added (id);',
      };
      const first = {
        version,
        name: 'first',
        sql: 'CREATE INDEX CONCURRENTLY idx_first ON tenants (name);',
        withoutTransaction: true,
      };
      const run = () =>
        migrate(engine(schema).config.database, {
          ports: systemPorts,
          onProgress: () => {},
          migrations: [...knownMigrations, first, added],
        });
      const name = kind === 'table' ? 'added' : 'added_key';
      await expect(run()).rejects.toMatchObject({
        code: 'SCHEMA_FOREIGN',
        message: `The schema "${schema}" contains another program's tables or other objects named like Syncline's: ${name}.`,
        hint: 'Rename or move them, then rerun `syncline migrate`. Nothing was changed.',
      });
      expect(await database.sql('SELECT to_regclass($1) AS first', [`${schema}.idx_first`])).toEqual([
        { first: null },
      ]);
      await database.sql(`ALTER ${kind} ${schema}.${name} RENAME TO theirs`);
      expect(await run()).toMatchObject({ applied: ['first', 'added'] });
    },
  );

  it('migrate: other tables in the schema are accepted', async () => {
    await database.sql('CREATE SCHEMA shared; CREATE TABLE shared.customers (id int)');
    await engine('shared').migrate();
    await engine('shared').ready();
  });

  it('migrate: a migration that waits for a lock lets writers pass, retries and is applied once', async () => {
    const schema = 'blocked';
    const { config } = engine(schema);
    await engine(schema).migrate();
    // The next migration adds a column to sync_jobs; its lock conflicts with this write.
    const holder = await database.session();
    await holder.query(`BEGIN; UPDATE ${schema}.sync_jobs SET priority = 1`);
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');

    const blocked: string[] = [];
    let onSecondTry = () => {};
    const triedTwice = new Promise<void>((resolve) => {
      onSecondTry = resolve;
    });
    const migrations = [...knownMigrations, ...futureMigrations];
    const migrated = migrate(config.database, {
      migrations,
      lockTimeoutMs: 1000,
      ports: { ...systemPorts, sleep: (_ms, signal) => systemPorts.sleep(10, signal) },
      onProgress: (message) => {
        blocked.push(message);
        if (blocked.length === 2) onSecondTry();
      },
    });
    await triedTwice;
    // Writers queue behind the waiting migration until its lock timeout.
    const writer = await database.session();
    await writer.query(`UPDATE ${schema}.sync_jobs SET priority = 2`);
    await holder.query('COMMIT');
    const { applied } = await migrated;
    expect(applied).toEqual(futureMigrations.map(({ name }) => name));
    expect(blocked[0]).toMatch(
      new RegExp(
        `schema "${schema}" waited 1 s for a lock held by .*session ${rows[0]?.pid} .* on .*sync_jobs`,
      ),
    );
    const versions = await database.sql(
      `SELECT version, count(*)::int AS times FROM ${schema}.schema_migrations GROUP BY 1 HAVING count(*) > 1`,
    );
    expect(versions).toEqual([]);
    const again = await migrate(config.database, { migrations, ports: systemPorts, onProgress: () => {} });
    expect(again.applied).toEqual([]);
  });

  describe('outside a transaction', () => {
    const version = (knownMigrations.at(-1)?.version ?? 0) + 1;
    const concurrent = (text: string) => [
      ...knownMigrations,
      { version, name: 'concurrent', sql: text, withoutTransaction: true },
      ...futureMigrations.map((migration) => ({ ...migration, version: migration.version + 1 })),
    ];
    const index = `-- No transaction: CONCURRENTLY.
      DROP INDEX CONCURRENTLY IF EXISTS idx_later;
      CREATE INDEX CONCURRENTLY idx_later ON sync_jobs (attempts);`;
    const state = (schema: string) =>
      database.sql<{ valid: boolean; version: number }>(
        `SELECT (SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass($1)) AS valid,
           (SELECT max(version) FROM ${schema}.schema_migrations) AS version`,
        [`${schema}.idx_later`],
      );
    const run = (schema: string, migrations: readonly Migration[], onProgress = (_: string) => {}) =>
      migrate(engine(schema).config.database, { migrations, ports: systemPorts, onProgress });

    it('migrate: an index is built while a transaction writes the table, once for concurrent calls', async () => {
      const schema = 'online';
      await engine(schema).migrate();
      const messages: string[] = [];
      const results = await Promise.all(
        Array.from({ length: 4 }, () => run(schema, concurrent(index), (text) => messages.push(text))),
      );
      expect(results.flatMap(({ applied }) => applied).sort()).toEqual([
        'concurrent',
        'future_column',
        'future_data',
      ]);
      expect(messages).toEqual([
        'Migration concurrent: DROP INDEX CONCURRENTLY IF EXISTS idx_later',
        'Migration concurrent: CREATE INDEX CONCURRENTLY idx_later ON sync_jobs (attempts)',
      ]);
      expect(await state(schema)).toEqual([{ valid: true, version: version + 2 }]);
    });

    it('migrate: writers do not wait for an index build', async () => {
      const schema = 'writable';
      await engine(schema).migrate();
      const holder = await database.session();
      await holder.query(`BEGIN; LOCK TABLE ${schema}.sync_jobs IN ROW EXCLUSIVE MODE`);
      let onBuild = () => {};
      const building = new Promise<void>((resolve) => {
        onBuild = resolve;
      });
      const migrated = run(schema, concurrent(index), (text) => {
        if (text.includes('CREATE')) onBuild();
      });
      await building;
      const writer = await database.session();
      await writer.query(`SET lock_timeout = '30s'; UPDATE ${schema}.sync_jobs SET priority = 2`);
      await holder.query('COMMIT');
      await migrated;
      expect(await state(schema)).toEqual([{ valid: true, version: version + 2 }]);
    });

    it('migrate: an interrupted index build is repeated by the next call', async () => {
      const schema = 'interrupted';
      await engine(schema).migrate();
      const failing = index.replace('(attempts)', '((1 / attempts))');
      const { id: tenantId } = await engine(schema).tenants.create({ name: 't' });
      await engine(schema).providers.register({ slug: 'github' });
      const { id } = await engine(schema).connections.create({ tenantId, provider: 'github' });
      await engine(schema).connections.trigger(id);
      await expect(run(schema, concurrent(failing))).rejects.toThrow(/division by zero/);
      expect(await state(schema)).toEqual([{ valid: false, version: version - 1 }]);
      await run(schema, concurrent(index));
      expect(await state(schema)).toEqual([{ valid: true, version: version + 2 }]);
    });
  });

  it('migrate: a role without CREATE cannot migrate, but can run the engine afterwards', async () => {
    await database.sql(
      `DROP ROLE IF EXISTS least_privilege; CREATE ROLE least_privilege LOGIN PASSWORD 'least'`,
    );
    const url = new URL(database.url);
    Object.assign(url, { username: 'least_privilege', password: 'least' });
    const restricted = createSyncline({ database: { url: url.href, schema: 'least' }, logger: silent });
    try {
      await expect(restricted.migrate()).rejects.toMatchObject({
        code: 'DATABASE_REFUSED',
        hint: expect.stringContaining('least_privilege'),
      });
      await engine('least').migrate();
      await database.sql(`GRANT USAGE ON SCHEMA least TO least_privilege;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA least TO least_privilege`);
      await restricted.ready();
      await restricted.tick();
    } finally {
      await restricted.stop();
      await database.sql('DROP OWNED BY least_privilege; DROP ROLE least_privilege');
    }
  });
});
