import { describe, expect, it } from 'vitest';
import { createSyncline } from '../../src/index.ts';
import { silent, useDatabase } from '../setup/database.ts';

const database = useDatabase();
const engine = (schema: string) => database.engine({ database: { url: database.url, schema } });

describe('migrations', () => {
  it('ten processes that migrate at once apply each migration once', async () => {
    const engines = Array.from({ length: 10 }, () => engine('at_once'));
    const results = await Promise.all(engines.map((one) => one.migrate()));
    expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1);
    expect(new Set(results.map((result) => result.version)).size).toBe(1);
    await engines[0]?.ready();
  });

  it('migrating again changes nothing', async () => {
    const first = await engine('again').migrate();
    const second = await engine('again').migrate();
    expect(first.applied).toEqual([
      '0001_base',
      '0002_executor',
      '0003_service',
      '0004_connectors',
      '0005_own_writes',
    ]);
    expect(second).toEqual({ ...first, applied: [] });
  });

  it.each(['Mixed Case', 'with "quotes"', 'drop;--', 'ünïcode', 'select'])(
    'any schema name works: %s',
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

  it('several engines share a database without touching each other', async () => {
    const [one, two] = [engine('shard_one'), engine('shard_two')];
    await Promise.all([one.migrate(), two.migrate()]);
    await one.providers.register({ slug: 'github' });
    const { id: tenantId } = await one.tenants.create({ name: 't' });
    await one.connections.create({ tenantId, provider: 'github' });
    expect(await two.tick()).toMatchObject({ scheduled: 0 });
    expect(await one.tick()).toMatchObject({ scheduled: 1 });
  });

  it('a newer schema is refused by migrate and by start, with what to do', async () => {
    await engine('newer').migrate();
    await database.sql(`INSERT INTO newer.schema_migrations (version, name) VALUES (9999, '9999_future')`);
    const refusal = { code: 'SCHEMA_NEWER', hint: expect.stringContaining('Upgrade Syncline') };
    await expect(engine('newer').migrate()).rejects.toMatchObject(refusal);
    await expect(engine('newer').start()).rejects.toMatchObject(refusal);
  });

  it('an older schema is refused by start, with what to do', async () => {
    await engine('older').migrate();
    await database.sql('DELETE FROM older.schema_migrations');
    await expect(engine('older').start()).rejects.toMatchObject({
      code: 'SCHEMA_OUTDATED',
      hint: expect.stringContaining('syncline migrate'),
    });
  });

  it('a missing schema is refused by start, with what to do', async () => {
    await expect(engine('nowhere').start()).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      hint: expect.stringContaining('syncline migrate'),
    });
  });

  it('a migration that fails leaves nothing behind', async () => {
    await database.sql('CREATE SCHEMA half; CREATE TABLE half.signals (id int)');
    await expect(engine('half').migrate()).rejects.toThrow();
    const left = await database.sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'half'`);
    expect(left).toEqual([{ tablename: 'signals' }]);
  });

  it('a role that may not create tables is told so, and can run the engine once they are there', async () => {
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
