/**
 * What stands in SQL without being a constant, and why it is nobody's input. By file and by how it is written there. To add a line
 * is to answer for it: a value belongs into a parameter.
 */
export const allowed: Record<string, Record<string, string>> = {
  'store/arrays.ts': {
    element: 'the text of an array, which is a parameter',
    text: 'the text of an array, which is a parameter',
    [String.raw`text.replace(special, '\\$&')`]: 'the text of an array, which is a parameter',
    'at.toISOString()': 'the text of an array, which is a parameter',
  },
  'store/budgets.ts': { provider: 'the bounds of a key, which are parameters' },
  'store/claims.ts': {
    schema: 'the quoted schema, handed on by callers in this file',
    after: 'one of two conditions that are written out in this file',
    due: 'a condition made of constants',
  },
  'store/connection-lists.ts': {
    [String.raw`search.replaceAll(/[\\%_]/g, '\\$&')`]: 'a pattern, which is a parameter',
  },
  'store/connections.ts': {
    "['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds'].map(syncField).join(', ')":
      'made of names that are written out here',
    column: 'a name that is written out by callers in this file',
    name: 'a name that is written out by callers in this file',
  },
  'store/credentials.ts': { lock: 'one of a few texts, by its type' },
  'store/database.ts': {
    name: 'the name of a setting, written out in this file',
    value: 'a setting of a transaction: on, off, or a number of ours',
    "set.join(', ')": 'settings, see name and value',
  },
  'store/job-lists.ts': {
    from: 'the number of a parameter',
    'from + 1': 'the number of a parameter',
    'from + 2': 'the number of a parameter',
  },
  'store/jobs.ts': {
    schema: 'the quoted schema, handed on by callers in this file',
    lock: 'one of two texts, by its type',
    ['lock && `$' + '{lock} OF j`']: 'one of two texts, by its type',
  },
  'store/keys.ts': { lock: 'one of two texts, by its type' },
  'store/migrate.ts': { quoted: 'the schema, quoted by the driver' },
  'store/plans.ts': {
    column: 'a name that is written out where it is called',
    value: 'a name that is written out where it is called',
  },
  'store/processes.ts': {
    'leaseNow(time)': 'the name of a parameter, written out by callers in this file',
    parameter: 'the name of a parameter, written out by callers in this file',
    seconds: 'the name of a parameter, written out by callers in this file',
  },
  'store/reserved.ts': {
    'pg.escapeIdentifier(wakeChannel(config.schema))': 'a hash, quoted by the driver',
  },
  'store/rollups.ts': {
    i: 'the number of a column',
    parameters: 'numbers of parameters',
    sums: 'made of names of columns that are constants',
    tenantId: 'what rows are sorted by, here',
    provider: 'what rows are sorted by, here',
  },
  'store/scope.ts': {
    schema: 'the quoted schema, given by who opens the database',
    table: 'written out by callers in this file',
    column: 'written out by callers in this file',
    id: 'a tenant, which was checked to be a UUID a line before',
  },
  'store/sealed.ts': {
    table: 'one of three names, by its type',
    column: 'found by one of those names in a constant',
    'asText(column)': 'see column',
    "fromText(column, '$2')": 'see column',
    "fromText(column, 'n.name')": 'see column',
    text: 'the name of a parameter or column, written out by callers in this file',
  },
  'store/signals.ts': { 'signalColumns(db, payload)': 'columns, with or without one of them' },
  'store/stats.ts': {
    from: 'written out by callers in this file',
    jobs: 'the quoted schema and constants',
    source: 'one of two relations that are written out in this file',
    status: 'one of three texts, by its type',
    table: 'the name of a relation as a parameter',
    '100 * share': 'a number of ours',
  },
  'store/tenants.ts': {
    [String.raw`search.replaceAll(/[\\%_]/g, '\\$&')`]: 'a pattern, which is a parameter',
  },
  'store/wake.ts': { "createHash('md5').update(schema).digest('hex')": 'a hash' },
  // These run on the database that a connection reads, with its credential. Names are those of its own catalog, and quoted.
  'connectors/postgres/session.ts': { 'options.statementTimeoutMs': 'a number, by its type' },
  'connectors/postgres/statements.ts': {
    "add(back.rows, 'bigint')": 'the number of a parameter',
    'add(from, type)': 'the number of a parameter',
    "add(request.limit, 'bigint')": 'the number of a parameter',
    column: 'a quoted name',
    'columnOf(cursor)': 'a quoted name',
    'columnOf(table.cursor)': 'a quoted name',
    "conditions.join(' AND ')": 'made of quoted names and numbers of parameters',
    earlier: 'made of numbers of parameters',
    fields: 'made of quoted names',
    highest: 'a quoted name',
    instant: 'a quoted name',
    isFresh: 'made of quoted names and numbers of parameters',
    most: 'a number, by its type',
    'nameOf(table)': 'quoted names',
    'nameOf({ cursor, ...table })': 'quoted names',
    'orderOf(table)': 'quoted names',
    ['places.map((column) => `$' + "{columnOf(column)}::text`).join(', ')"]: 'quoted names',
    type: 'the type of a column, as that database writes it',
  },
  'connectors/postgres/table.ts': {
    order: 'quoted names, in advice for people',
    'quoted(name.name)': 'a quoted name, in advice for people',
    'quoted(name.schema)': 'a quoted name, in advice for people',
  },
  'dev/demo.ts': {
    schema: 'the schema, quoted by the driver',
    'database.schema': 'the schema, quoted by the driver',
  },
  'dev/demo-load.ts': { schema: 'the schema, quoted by the driver' },
};

/** Statements that are put together elsewhere than where they are sent. */
export const allowedStatements: Record<string, Record<string, string>> = {
  'store/database.ts': {
    text: 'whatever the store sends: all of it passes here',
    'timed(text, values, timeoutMs)': 'the same, with a time limit',
  },
  'store/jobs.ts': { 'pendingIncremental(db.schema)': 'written out in this file' },
  'store/migrate.ts': { sql: 'a migration, read from its file' },
  'store/reserved.ts': { text: 'whatever the store sends' },
  'connectors/postgres/session.ts': { text: 'what statements.ts has put together' },
};
