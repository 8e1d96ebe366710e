/**
 * Non-constant expressions in SQL, by file and source text, each with the reason why it cannot be input.
 * Pass values as parameters instead of adding an entry.
 */
export const allowed: Record<string, Record<string, string>> = {
  'store/arrays.ts': {
    'json.slice(1, -1)': 'text of an array, passed as a parameter',
  },
  'store/budgets.ts': {
    provider: 'bounds of a key, passed as parameters',
  },
  'store/connection-lists.ts': {
    [String.raw`search.replaceAll(/[\\%_]/g, '\\$&')`]: 'a pattern, passed as a parameter',
    condition: 'one of two literals of this file',
  },
  'store/connections.ts': {
    after: 'one of two literals of this file',
    tenantId: 'text of an error',
  },
  'store/migrate.ts': {
    quoted: 'the schema, quoted by the driver',
    'pg.escapeIdentifier(config.schema)': 'the schema, quoted by the driver',
    "namesOf(steps).join(', ')": 'text of an error',
    "command.split('\\n').at(-1)?.trim()": 'text of a log line',
    name: 'text of an error, or of a log line',
    blocked: 'text of an error',
    waited: 'text of an error',
    'config.schema': 'text of an error',
    holders: 'text of an error',
    'lockTimeoutMs / 1000': 'text of an error',
    tries: 'text of an error',
  },
  'store/page-bytes.ts': {
    above: 'literals of callers: column names, an order, a parameter number',
    column: 'literals of callers: column names, an order, a parameter number',
    order: 'literals of callers: column names, an order, a parameter number',
    page: 'a statement, literal in the caller',
    byteLimit: 'a constant or a parameter number',
    stored: 'made of column names',
    text: 'made of column names',
  },
  'store/listener.ts': {
    'pg.escapeIdentifier(wakeChannel(schema))': 'a hash, quoted by the driver',
  },
  'store/rollups.ts': {
    i: 'a column number',
    tenantId: 'a sort key in JavaScript, not SQL',
    provider: 'a sort key in JavaScript, not SQL',
  },
  'store/scope.ts': {
    schema: 'the quoted schema, set when the database is opened',
    table: 'a literal, passed by callers in this file',
    column: 'a literal, passed by callers in this file',
    id: 'a literal, passed by callers in this file',
    alias: 'a literal, passed by callers in this file',
    columns: 'built one line above',
    'relations.connections': 'a relation of this file',
  },
  'store/sealed.ts': {
    table: 'a literal, passed by the three calls in this file',
    key: 'a literal, passed by the three calls in this file',
    keyAsText: 'a literal, passed by the three calls in this file',
    lockable: 'made of table, key and keyAsText',
    text: 'a literal parameter or column, passed by sealedStatements',
  },
  'store/session.ts': {
    name: 'the literal name of a setting, in the store',
    value: 'the value of a setting: a literal of the store or a configured number',
    isLocal: 'true or false, by type',
    'Number(processID ?? 0)': 'a number',
    access: 'one of three literals of this file',
    begin: 'see access',
    timeouts: 'one of two literals of this file',
    "selected.join(', ')": 'settings, see name and value, and literal columns of callers',
    "assigned.join(', ')": 'settings, see name and value',
  },
  'store/sql.ts': {
    schema: 'the quoted schema, set when the database is opened',
    table: 'from the text of a statement',
    '[...parameters.keys()].indexOf(whole) + 1': 'a parameter number',
    'parameters.length + 1': 'a parameter number',
    '++preparedTexts': 'a counter',
    alias: 'a literal of a statement, see unnest',
    key: 'a literal of a statement, see unnest',
    type: 'a literal of a statement, see unnest',
    'c.toLowerCase()': 'a letter of a literal, see unnest',
    numbering: 'one of two literals of this file',
    "arrays.join(', ')": 'made of alias, key and type',
    "columns.join(', ')": 'made of key',
  },
  'store/stats.ts': {
    'db.schema': 'a relation name, passed as a parameter',
    table: 'a relation name, passed as a parameter',
  },
  'store/tenants.ts': {
    [String.raw`search.replaceAll(/[\\%_]/g, '\\$&')`]: 'a pattern, passed as a parameter',
  },
  'store/wake.ts': { "createHash('md5').update(schema).digest('hex')": 'a hash' },
  // Run on the database of a connection, with its credential. Names come from its catalog and are quoted.
  'connectors/postgres/session.ts': { 'options.statementTimeoutMs': 'a number, by type' },
  'connectors/postgres/statements.ts': {
    "add(back.rows, 'bigint')": 'a parameter number',
    'add(from, type)': 'a parameter number',
    "add(request.limit, 'bigint')": 'a parameter number',
    column: 'a quoted name',
    'columnOf(cursor)': 'a quoted name',
    'columnOf(table.cursor)': 'a quoted name',
    "conditions.join(' AND ')": 'made of quoted names and parameter numbers',
    earlier: 'made of parameter numbers',
    fields: 'made of quoted names',
    highest: 'a quoted name',
    instant: 'a quoted name',
    isFresh: 'made of quoted names and parameter numbers',
    limit: 'a number, by type',
    'nameOf(table)': 'quoted names',
    'nameOf({ cursor, ...table })': 'quoted names',
    'orderOf(table)': 'quoted names',
    ['places.map((column) => `$' + "{columnOf(column)}::text`).join(', ')"]: 'quoted names',
    type: 'a column type, formatted by that database',
  },
  'connectors/postgres/table.ts': {
    order: 'quoted names, in a hint',
    'quoted(name.name)': 'a quoted name, in a hint',
    'quoted(name.schema)': 'a quoted name, in a hint',
  },
};

/** Texts that are sent although they are no registered statement. */
export const allowedTexts: Record<string, Record<string, string>> = {
  'store/database.ts': {
    'sent.text': 'all statements of the store pass here',
    query: 'the same, with a timeout',
  },
  'store/migrate.ts': {
    'beginText(client, false, unlimited)': 'see store/session.ts',
    text: 'a statement of suitable.ts, or a migration file',
    command: 'part of a migration file',
    'textWithin(migration)': 'a migration file',
  },
  'store/gated.ts': { text: 'a statement of the store' },
  'store/reserved.ts': { text: 'a statement of the store' },
  'store/single.ts': {
    text: 'a statement of the store',
    clockText: 'built a few lines above',
    'beginText(client, false, limits)': 'see store/session.ts',
  },
  'store/session.ts': { statement: 'built a few lines above', "'ROLLBACK'": 'a literal' },
  'store/sql.ts': {
    text: 'every registered statement, with the relations of the caller and the schema version',
  },
  'connectors/postgres/session.ts': { text: 'built by statements.ts' },
  'dev/demo-database.ts': { text: 'a statement of demo.ts or demo-load.ts' },
};
