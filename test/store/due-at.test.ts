import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineConnector, systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations } from '../../src/store/migrations.inline.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;

const wrong = (schema = 'syncline') =>
  sql(
    `SELECT id, due_at, metadata FROM ${schema}.connections
     WHERE due_at <> coalesce(${schema}.parse_instant(metadata #>> '{sync,next_run_at}'), '-infinity')`,
  );

const nextRunAt = fc.oneof(
  fc.constantFrom('2025-01-01T12:00:00Z', '2024-02-30T00:00:00Z', 'soon', '', null, 42, [], {}),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((at) => at.toISOString()),
);
const metadata = fc.oneof(
  { weight: 4, arbitrary: nextRunAt.map((at) => ({ sync: { next_run_at: at, cursor: 'c' }, own: 1 })) },
  { weight: 1, arbitrary: fc.constantFrom(null, 42, 'text', [], {}, { sync: 42 }, { sync: {} }) },
);

/** What another service may write. */
const write = fc.oneof(
  metadata.map((value) => ({ text: 'UPDATE connections SET metadata = $1', value: JSON.stringify(value) })),
  nextRunAt.map((at) => ({
    text: `UPDATE connections SET metadata = jsonb_set(
      CASE jsonb_typeof(metadata) WHEN 'object' THEN metadata ELSE '{}' END, '{sync}', jsonb_build_object('next_run_at', $1::jsonb))`,
    value: JSON.stringify(at),
  })),
  fc.constant({ text: `UPDATE connections SET due_at = $1`, value: '2031-01-01T00:00:00Z' }),
  fc.constant({ text: 'UPDATE connections SET external_id = $1', value: 'renamed' }),
);

describe('DB-4: due_at', () => {
  it('DB-4: follows metadata.sync.next_run_at for every write of another service', async () => {
    await fc.assert(
      fc.asyncProperty(metadata, fc.array(write, { maxLength: 6 }), async (first, writes) => {
        await database.empty();
        await database.connect();
        await sql('INSERT INTO connections (tenant_id, provider_slug, metadata) VALUES ($1, $2, $3)', [
          tenant,
          'github',
          JSON.stringify(first),
        ]);
        expect(await wrong()).toEqual([]);
        for (const { text, value } of writes) {
          await sql(text, [value]);
          expect(await wrong()).toEqual([]);
        }
      }),
      { numRuns: sized(300, 30) },
    );
  });

  it('DB-4: a value given on insert is replaced', async () => {
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, due_at) VALUES ($1, 'github', '2031-01-01T00:00:00Z')`,
      [tenant],
    );
    expect(await wrong()).toEqual([]);
  });

  it('DB-4: follows metadata also in rows that replication or a bulk load writes', async () => {
    const session = await database.session();
    await session.query('SET search_path TO syncline; SET session_replication_role = replica');
    await session.query(
      `INSERT INTO connections (tenant_id, provider_slug, metadata)
       VALUES ('${tenant}', 'github', '{"sync":{"next_run_at":"2031-01-01T00:00:00Z"}}')`,
    );
    expect(await wrong()).toEqual([]);
    await session.query('UPDATE connections SET metadata = NULL');
    expect(await wrong()).toEqual([]);
  });

  it('DB-4: a process of the previous release, which does not write it, leaves no wrong value', async () => {
    const id = await database.connect({ metadata: { sync: { next_run_at: '2025-01-01T00:00:00Z' } } });
    const session = await database.session();
    await session.query(`SET search_path TO syncline; SET syncline.triggers = 'off'`);
    await session.query(
      `UPDATE connections SET metadata = patch_sync(metadata, '{"next_run_at":"2031-01-01T00:00:00Z"}') WHERE id = $1`,
      [id],
    );
    expect(await wrong()).toEqual([]);
  });

  it('SCH-1: this release works on the schema of the previous one, before and after its migration', async () => {
    const schema = 'previous';
    const { config } = database.engine({ database: { url: database.url, schema } });
    const previous = knownMigrations.filter(({ version }) => version < 12);
    await migrate(config.database, { migrations: previous, ports: systemPorts, onProgress: () => {} });
    const connector = defineConnector({
      provider: 'github',
      name: 'GitHub',
      sync: async () => ({ signals: [], nextCursor: { page: 2 } }),
    });
    const engine = database.engine({
      database: { url: database.url, schema },
      connectors: [connector],
    });
    await engine.ready();
    await engine.providers.register({ slug: 'github' });
    const { id: tenantId } = await engine.tenants.create({ name: 't' });
    await engine.connections.create({ tenantId, provider: 'github' });
    const run = async () => {
      expect(await engine.tick()).toMatchObject({ scheduled: 1 });
      expect(await wrong(schema)).toEqual([]);
      await engine.drain();
      expect(await wrong(schema)).toEqual([]);
    };
    await run();
    const { applied } = await engine.migrate();
    expect(applied[0]).toBe('0012_due_at');
    await sql(
      `UPDATE previous.connections SET last_incremental_ended_at = last_incremental_ended_at - interval '1 hour',
         metadata = previous.patch_sync(metadata, '{"next_run_at":"2025-01-01T00:00:00Z"}')`,
    );
    await run();
    expect(await sql(`SELECT metadata #> '{sync,cursor}' AS cursor FROM previous.connections`)).toEqual([
      { cursor: { page: 2 } },
    ]);
  });
});
