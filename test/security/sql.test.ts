import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { allowed, allowedTexts } from './sql-allowed.ts';
import { insertionsIn, lateStatements, sentTexts, sourceFiles, sourceOf } from './sql-texts.ts';

const database = useDatabase();

const holdsSql = (file: string) =>
  /^(store\/(?!database-errors)|connectors\/postgres\/)/.test(file) ||
  /^dev\/demo(-load|-database)?\.ts$/.test(file);

/** In the store every template counts as SQL; elsewhere only those with SQL keywords. */
const isSql = (file: string) => (text: string) =>
  file.startsWith('store/') ||
  /\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|ORDER BY|SET|CREATE|LISTEN)\b/.test(text);

/** Outside the store; and where a session is not in a migrated schema, or not in a transaction of the engine. */
const sendsLiterals = (file: string) => !/^store\/(?!migrate|listener|single)/.test(file);

function compare(found: { file: string; expression: string }[], list: typeof allowed) {
  const expected = Object.entries(list).flatMap(([file, entries]) =>
    Object.keys(entries).map((expression) => `${file}: ${expression}`),
  );
  const actual = new Set(
    found.map(({ file, expression }) => `${file}: ${expression.replaceAll(/\s+/g, ' ')}`),
  );
  expect([...actual].sort()).toEqual(expected.sort());
}

describe('input never becomes SQL', () => {
  it('SQL: statements contain only constants and listed expressions', () => {
    const files = sourceFiles().filter(holdsSql);
    expect(files.length).toBeGreaterThan(30);
    compare(
      files.flatMap((file) => insertionsIn(file, sourceOf(file), isSql(file))),
      allowed,
    );
  });

  it('SQL: the store sends only registered statements, and listed texts', () => {
    compare(
      sourceFiles()
        .filter(holdsSql)
        .flatMap((file) => sentTexts(file, sourceOf(file), sendsLiterals(file))),
      allowedTexts,
    );
  });

  it('SQL: statements are registered when their module is loaded', () => {
    const late = sourceFiles().filter((file) => lateStatements(file, sourceOf(file)).length > 0);
    // Three tables share the texts; the function is called three times at load.
    expect(late).toEqual(['store/sealed.ts']);
  });

  it('SQL: no other file imports the driver or sends a statement', () => {
    const others = sourceFiles().filter((file) => !holdsSql(file) && !file.startsWith('dev/'));
    const importing = others.filter((file) =>
      /from 'pg'|\b(?:db|tx|client|pool)\.query\b/.test(sourceOf(file)),
    );
    // It inspects errors of the driver.
    expect(importing).toEqual(['store/database-errors.ts']);
  });

  it.each([
    ['a parameter', 'const f = (db, id) => db.query(`SELECT §{id}`);', ['id']],
    ['a field', 'const f = (db, filter) => db.query(`SELECT §{filter.name}`);', ['filter.name']],
    ['a concatenated text', "const f = (db, id) => db.query('SELECT ' + id);", ["'SELECT ' + id"]],
    ['the result of a function', 'const f = (db, id) => db.query(`SELECT §{quote(id)}`);', ['quote(id)']],
    [
      'an element of a parameter',
      'const f = (db, ids) => `IN (§{ids.map((id) => `§{id}`).join()})`;',
      ['id', 'ids.map((id) => `§{id}`).join()'],
    ],
    ['a constant inside a function', 'const f = (id) => { const a = id; return `SELECT §{a}`; };', ['a']],
    [
      'a constant',
      "const all = ['a', 'b']; const f = () => `§{all.map((one) => `§{one}::text`).join()}`;",
      [],
    ],
    ['a constant of the store', "import { operatorId } from './scope.ts'; sql`§{operatorId}`;", []],
    [
      'a bound of outside data',
      "import { maxNameLength } from '../values/limits.ts'; sql`§{maxNameLength}`;",
      [],
    ],
    ['a list of columns', "sql`§{unnest('n', { id: 'uuid' })}`;", []],
    [
      'a list of given columns',
      "const f = (type) => sql`§{unnest('n', { id: type })}`;",
      ["unnest('n', { id: type })"],
    ],
    [
      'the schema',
      'const f = (db) => `§{db.schema}.jobs, §{db.tables.jobs}`;',
      ['db.schema', 'db.tables.jobs'],
    ],
  ])('SQL: the search reports %s if it must', (_, source, expected) => {
    expect(
      insertionsIn('example.ts', source.replaceAll('§', '$'))
        .map(({ expression }) => expression.replaceAll('$', '§'))
        .sort(),
    ).toEqual(expected);
  });

  it.each([
    ['a text', "const f = (db) => db.query('SELECT 1');", false, ["'SELECT 1'"]],
    ['a text where literals are allowed', "const f = (db) => db.query('SELECT 1');", true, []],
    [
      'a constant where literals are allowed',
      "const a = 'SELECT 1'; const f = (db) => db.query(a);",
      true,
      [],
    ],
    ['a variable', 'const f = (db, text) => db.query(text);', true, ['text']],
    ['a statement', 'const f = (db) => found.all(db, { id: 1 });', false, []],
  ])('SQL: the search for sent texts reports %s if it must', (_, source, isLiteralAllowed, expected) => {
    const found = sentTexts('example.ts', source, isLiteralAllowed);
    expect(found.map(({ expression }) => expression)).toEqual(expected);
  });

  it('SQL: the search for late statements reports those inside functions', () => {
    const source =
      'const a = { b: sql`SELECT 1`, c: prepared`SELECT 1` }; const f = () => [sql`SELECT 2`, prepared`SELECT 3`];';
    expect(lateStatements('example.ts', source).map(({ expression }) => expression)).toEqual([
      'sql`SELECT 2`',
      'prepared`SELECT 3`',
    ]);
  });
});

describe('hostile schema names and values', () => {
  const hostile = [
    `x'; DROP SCHEMA public CASCADE; --`,
    '$1',
    `back\\slash\\'`,
    'new\nline "quoted"',
    '%s %I {0}',
    "'); SELECT pg_sleep(60); --",
  ];

  it.each(hostile)(
    'SQL: a hostile text is quoted as a schema name and bound as a value: %j',
    async (text) => {
      const syncline = database.engine({ database: { url: database.url, schema: text } });
      await syncline.migrate();
      const { id: tenantId } = await syncline.tenants.create({ name: text });
      await syncline.providers.register({ slug: text });
      const view = syncline.as({ tenantId, actor: text });
      const { id } = await view.connections.create({
        tenantId,
        provider: text,
        externalId: text,
        config: { [text]: text },
      });
      await syncline.tick();
      await view.connections.pause(id, { reason: text });
      const found = await view.connections.list({ search: text, provider: text });
      expect(found.items.map(({ externalId, config }) => [externalId, config])).toEqual([
        [text, { [text]: text }],
      ]);
      expect((await view.jobs.list({ provider: text })).items).toHaveLength(1);
      expect(
        (await view.audit.list({ connectionId: id })).items.map(({ actor, reason }) => [actor, reason]),
      ).toContainEqual([text, text]);
      expect(await database.sql(`SELECT nspname FROM pg_namespace WHERE nspname = 'public'`)).toHaveLength(1);
    },
  );
});
