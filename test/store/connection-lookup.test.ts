import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { copyFrom } from '../support/copy.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { lookupDifferences } from '../support/lookup-differences.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const other = '00000000-0000-4000-8000-000000000002';

const differences = () => lookupDifferences(database);
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

  it('DB-4: follows COPY', async () => {
    const session = await database.session();
    await session.query('SET search_path TO syncline');
    const rows = [1, 2, 3].map(
      (n) => `${uuid(n)}\t${n === 2 ? other : tenant}\tgithub\t${n === 3 ? '\\N' : `a${n}`}\n`,
    );
    await copyFrom(
      session,
      'COPY connections (id, tenant_id, provider_slug, external_id) FROM STDIN',
      rows.join(''),
    );
    expect(await sql('SELECT FROM connection_lookup')).toHaveLength(3);
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

  it('DB-4: an update that changes neither tenant nor external id writes no row of it', async () => {
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
