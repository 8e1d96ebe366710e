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
  'store/budgets.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    provider: 'the bounds of a key, which are parameters',
  },
  'store/claims.ts': {
    schema: 'the quoted schema, handed on by callers in this file',
    after: 'one of two conditions that are written out in this file',
    due: 'a condition made of constants',
  },
  'store/connection-lists.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    [String.raw`search.replaceAll(/[\\%_]/g, '\\$&')`]: 'a pattern, which is a parameter',
  },
  'store/connections.ts': {
    maxNameLength: 'a number, which is a constant of another file',
    "['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds'].map(syncField).join(', ')":
      'made of names that are written out here',
    column: 'a name that is written out by callers in this file',
    name: 'a name that is written out by callers in this file',
  },
  'store/authorizations.ts': { lock: 'one of two texts, by its type' },
  'store/credentials.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    lock: 'one of a few texts, by its type',
  },
  'store/database.ts': { clockColumn: 'a constant of store/clock.ts' },
  'store/job-lists.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    from: 'the number of a parameter',
    'from + 1': 'the number of a parameter',
    'from + 2': 'the number of a parameter',
  },
  'store/jobs.ts': {
    maxNameLength: 'a number, which is a constant of another file',
    schema: 'the quoted schema, handed on by callers in this file',
    lock: 'one of two texts, by its type',
    moves: 'a condition, written out in this file',
    ['lock && `$' + '{lock} OF j`']: 'one of two texts, by its type',
  },
  'store/keys.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    lock: 'one of two texts, by its type',
  },
  'store/migrate.ts': {
    quoted: 'the schema, quoted by the driver',
    blocked: 'the text of an error',
    'config.schema': 'the text of an error',
    holders: 'the text of an error',
    'lockTimeoutMs / 1000': 'the text of an error',
    tries: 'the text of an error',
  },
  'store/attempts.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
  },
  'store/consumers.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
  },
  'store/events.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
  },
  'store/feed.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    'signalColumns(db, payload)': 'columns, with or without one of them',
  },
  'store/providers.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
  },
  'store/page-bytes.ts': {
    above: 'written out by callers: names of columns, an order, the number of a parameter',
    column: 'written out by callers: names of columns, an order, the number of a parameter',
    order: 'written out by callers: names of columns, an order, the number of a parameter',
    page: 'a statement that is written where this is called',
    most: 'a constant, or the number of a parameter',
    stored: 'made of names of columns',
    text: 'made of names of columns',
  },
  'store/plans.ts': {
    column: 'a name that is written out where it is called',
    value: 'a name that is written out where it is called',
  },
  'store/processes.ts': {
    clockColumn: 'a constant of store/clock.ts',
  },
  'store/listener.ts': {
    'pg.escapeIdentifier(wakeChannel(schema))': 'a hash, quoted by the driver',
  },
  'store/single.ts': { clockColumn: 'a constant of store/clock.ts' },
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
  'store/session.ts': {
    name: 'the name of a setting, written out in the store',
    value: 'the value of a setting: written out in the store, or a number of ours',
    isLocal: 'true or false, by its type',
    'Number(processID ?? 0)': 'a number',
    access: 'one of three texts of this file',
    begin: 'see access',
    "selected.join(', ')": 'settings, see name and value, and columns written out by callers',
    "[...setConfigs(settings, false), transactionTimeout(false)].join(', ')": 'settings, see name and value',
  },
  'store/signals.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
    maxNameLength: 'a number, which is a constant of another file',
    'signalColumns(db, payload)': 'columns, with or without one of them',
  },
  'store/stats.ts': {
    from: 'written out by callers in this file',
    jobs: 'the quoted schema and constants',
    source: 'one of two relations that are written out in this file',
    status: 'one of three texts, by its type',
    table: 'the name of a relation as a parameter',
    '100 * share': 'a number of ours',
  },
  'store/tenants.ts': {
    'withinBytes(page, cut)': 'a page, cut by names that are written out a line before',
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
  'store/migrate.ts': {
    sql: 'a migration, read from its file',
    'beginText(client, false, unlimited)': 'see store/session.ts',
    text: 'what suitable.ts sends',
  },
  'store/gated.ts': { text: 'whatever the store sends' },
  'store/reserved.ts': { text: 'whatever the store sends' },
  'store/single.ts': {
    text: 'whatever the store sends',
    clockText: 'a few lines above it',
    'beginText(client, false, limits)': 'see store/session.ts',
  },
  'store/session.ts': { statement: 'a few lines above it' },
  'connectors/postgres/session.ts': { text: 'what statements.ts has put together' },
};
