import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { tablesOf, tablesWithoutLookup } from '../../src/store/scope.ts';
import { type Statement, sql, statements, unnest } from '../../src/store/sql.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { filledLookup } from '../support/filled-lookup.ts';

const database = useDatabase();
const src = new URL('../../src/', import.meta.url);

beforeAll(async () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => /^(store\/.*|dev\/demo(-load)?)\.ts$/.test(name)))
    await import(new URL(file, src).href);
});

const operator = { schema: '"syncline"', tables: tablesOf('"syncline"') };
const scoped = { schema: '"syncline"', tables: tablesOf('"syncline"', tenant) };

/** The messages of Postgres for statements that it cannot prepare. */
async function failures(list: readonly Statement<object>[], names: typeof operator): Promise<string[]> {
  const client = await database.session();
  const failed: string[] = [];
  for (const [i, statement] of list.entries()) {
    const text = statement.text(names).replace(/^\s*EXPLAIN \(FORMAT JSON\)/, '');
    await client
      .query(`PREPARE statement_${i} AS ${text}`)
      .catch((error: Error) => failed.push(`${error.message}: ${text}`));
  }
  return failed;
}

describe('statements', () => {
  it('statements: Postgres prepares every statement of the store, for the operator and for a tenant', async () => {
    expect(statements.length).toBeGreaterThan(150);
    expect(await failures(statements, operator)).toEqual([]);
    expect(await failures(statements, scoped)).toEqual([]);
    for (const tenantId of [undefined, tenant]) {
      const tables = tablesWithoutLookup('"syncline"', tenantId);
      expect(await failures(statements, { schema: '"syncline"', tables })).toEqual([]);
    }
  });

  it('statements: a statement with a wrong name is found', async () => {
    const wrong = sql`SELECT idd FROM :scope.sync_jobs j WHERE id = :id`;
    statements.pop();
    for (const names of [operator, scoped])
      expect(await failures([wrong], names)).toEqual([
        expect.stringContaining('column "idd" does not exist'),
      ]);
    const unknown = sql`SELECT id FROM :scope.schedulers s`;
    statements.pop();
    expect(() => unknown.text(scoped)).toThrow('There is no relation :scope.schedulers');
  });

  it('statements: parameters are numbered by first use, casts and array bounds are not parameters', async () => {
    const statement = sql<{ sum: number; texts: string[] }>`
      SELECT (:b::int + :a::int * :b)::int AS sum, (ARRAY[:text, 'x:y', ':' || :text])[1:2] AS texts`;
    statements.pop();
    expect(statement.text(operator)).toContain(`($1::int + $2::int * $1)::int AS sum, (ARRAY[$3,`);
    const db = { ...operator, lookup: filledLookup(operator.tables), query: database.sql };
    expect(await statement.first(db, { a: 2, b: 3, text: 't' })).toEqual({ sum: 9, texts: ['t', 'x:y'] });
    await expect(statement.first(db, { a: 2, b: 3 })).rejects.toThrow(
      'The statement needs a value for :text',
    );
  });

  it('statements: a list of rows, or of columns, becomes one array per column', async () => {
    const statement = sql<{ key: string; n: number }>`
      SELECT r.tenant_id AS key, r.n FROM ${unnest('r', { tenantId: 'text', n: 'int' })} ORDER BY r.n`;
    statements.pop();
    const rows = [
      { tenantId: 'b', n: 2, other: 0 },
      { tenantId: 'a', n: 1, other: 0 },
    ];
    const db = { ...operator, lookup: filledLookup(operator.tables), query: database.sql };
    const expected = [
      { key: 'a', n: 1 },
      { key: 'b', n: 2 },
    ];
    expect(await statement.all(db, { r: rows })).toEqual(expected);
    expect(await statement.all(db, { r: { tenantId: ['b', 'a'], n: [2, 1] } })).toEqual(expected);
  });
});
