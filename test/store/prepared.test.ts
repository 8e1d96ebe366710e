import { beforeAll, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/platform/ports.ts';
import { pinnedPlans } from '../../src/store/plans.ts';
import { tablesOf } from '../../src/store/scope.ts';
import type { Statement } from '../../src/store/sql.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { fillRealistically } from '../support/realistic-data.ts';
import { type Example, loadStatements, preparedScans } from '../support/statement-plans.ts';

const schema = '"syncline"';
const scopes = (tenantId: string) => [tablesOf(schema), tablesOf(schema, tenantId)];
let statements: readonly Statement<object>[];

beforeAll(async () => {
  statements = (await loadStatements()).filter(({ isPrepared }) => isPrepared);
});

describe('DB-4: prepared statements', () => {
  const database = useDatabase();

  it('DB-4: a prepared statement has no optional condition, which one plan cannot serve', () => {
    const optional = /\$\d+(::\w+)? IS (NOT )?NULL OR|NOT \$\d+::boolean OR/;
    const texts = statements.flatMap((statement) =>
      scopes(tenant).map((tables) => statement.text({ schema, tables })),
    );
    expect(texts.length).toBeGreaterThan(50);
    expect(texts.filter((text) => optional.test(text))).toEqual([]);
    expect('($1::uuid IS NULL OR id = $1)').toMatch(optional);
  });

  it('DB-4: the plan for all parameters reads the same indexes as a plan for some', async () => {
    await fillRealistically(database.sql);
    const [example] = await database.sql<Example>(
      `SELECT tenant_id AS tenant, id AS connection, provider_slug AS provider, external_id AS "externalId"
       FROM connections WHERE external_id IS NOT NULL LIMIT 1`,
    );
    const client = await database.session();
    const scans: Record<string, string[][]> = {};
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      const settings = { ...pinnedPlans, search_path: 'syncline', plan_cache_mode: mode };
      for (const [name, value] of Object.entries(settings)) await client.query(`SET ${name} = ${value}`);
      scans[mode] = [];
      for (const tables of scopes((example as Example).tenant))
        for (const statement of statements)
          scans[mode].push(await preparedScans(client, statement, { schema, tables }, example as Example));
    }
    expect(scans['force_generic_plan']).toEqual(scans['force_custom_plan']);
    expect(scans['force_custom_plan']?.flat().length).toBeGreaterThan(100);
  });
});

describe('statements: sessions', () => {
  const database = useDatabase();

  it('statements: prepared statements survive a migration that adds columns to every table', async () => {
    const numbers = connector(({ cursor = 0 }) => ({
      signals: [signal(Number(cursor) + 1, 'now')],
      nextCursor: Number(cursor) + 1,
    }));
    const engine = database.engine({ connectors: [numbers], database: { url: database.url, poolSize: 2 } });
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    const use = async () => {
      // More often than Postgres plans for the given parameters.
      for (let i = 0; i < 8; i++) {
        await engine.connections.trigger(id);
        await engine.drain();
        await engine.connections.list();
        await engine.as({ tenantId: tenant, actor: 'a' }).connections.get(id);
      }
    };
    await use();
    const tables = await database.sql<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'syncline'::regnamespace AND relkind = 'r'`,
    );
    for (const { name } of tables) await database.sql(`ALTER TABLE ${name} ADD COLUMN added integer`);
    await use();
    expect(await database.sql(`SELECT FROM sync_jobs WHERE status = 'succeeded'`)).toHaveLength(16);
    expect(await engine.connections.get(id)).toMatchObject({ sync: { cursor: 16 } });
  });

  it('statements: the tenant is a parameter, so tenants share prepared statements', async () => {
    const other = '00000000-0000-4000-8000-00000000000b';
    await database.sql('INSERT INTO tenants (id) VALUES ($1)', [other]);
    const sent = new Set<string>();
    const engine = database.engine({
      ports: {
        ...systemPorts,
        query: (text, send) => {
          sent.add(text);
          return send();
        },
      },
    });
    const countOf = async (tenantId: string) => {
      const { items } = await engine.as({ tenantId, actor: 'a' }).connections.list();
      return items.length;
    };
    expect(await countOf(tenant)).toBe(1);
    const texts = sent.size;
    expect(await countOf(other)).toBe(0);
    expect(sent.size).toBe(texts);
  });
});
