/**
 * Non-constant expressions in SQL, by file and source text, each with the reason why it cannot be input.
 * Pass values as parameters instead of adding an entry.
 */
export const allowed: Record<string, Record<string, string>> = {
  'store/arrays.ts': {
    element: 'text of an array, passed as a parameter',
    text: 'text of an array, passed as a parameter',
    [String.raw`text.replace(special, '\\$&')`]: 'text of an array, passed as a parameter',
    'at.toISOString()': 'text of an array, passed as a parameter',
  },
  'store/budgets.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    provider: 'bounds of a key, passed as parameters',
  },
  'store/claims.ts': {
    schema: 'the quoted schema, passed by callers in this file',
    after: 'one of two literal conditions of this file',
    due: 'a condition made of constants',
  },
  'store/connection-lists.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    [String.raw`search.replaceAll(/[\\%_]/g, '\\$&')`]: 'a pattern, passed as a parameter',
  },
  'store/connections.ts': {
    maxNameLength: 'a numeric constant of another file',
    "['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds'].map(syncField).join(', ')":
      'made of literal names',
    column: 'a literal name, passed by callers in this file',
    name: 'a literal name, passed by callers in this file',
  },
  'store/authorizations.ts': { lock: 'one of two literals, by type' },
  'store/credentials.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    lock: 'one of a few literals, by type',
  },
  'store/database.ts': { clockColumn: 'a constant of store/clock.ts' },
  'store/job-lists.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    from: 'a parameter number',
    'from + 1': 'a parameter number',
    'from + 2': 'a parameter number',
  },
  'store/jobs.ts': {
    maxNameLength: 'a numeric constant of another file',
    schema: 'the quoted schema, passed by callers in this file',
    lock: 'one of two literals, by type',
    moves: 'a literal condition of this file',
    ['lock && `$' + '{lock} OF j`']: 'one of two literals, by type',
  },
  'store/keys.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    lock: 'one of two literals, by type',
  },
  'store/migrate.ts': {
    quoted: 'the schema, quoted by the driver',
    blocked: 'text of an error',
    'config.schema': 'text of an error',
    holders: 'text of an error',
    'lockTimeoutMs / 1000': 'text of an error',
    tries: 'text of an error',
  },
  'store/attempts.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
  },
  'store/consumers.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
  },
  'store/events.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
  },
  'store/feed.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    'signalColumns(db, payload)': 'literal columns, with or without payload',
  },
  'store/providers.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
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
  'store/plans.ts': {
    column: 'a literal name, passed by the caller',
    value: 'a literal name, passed by the caller',
  },
  'store/processes.ts': {
    clockColumn: 'a constant of store/clock.ts',
  },
  'store/listener.ts': {
    'pg.escapeIdentifier(wakeChannel(schema))': 'a hash, quoted by the driver',
  },
  'store/single.ts': { clockColumn: 'a constant of store/clock.ts' },
  'store/rollups.ts': {
    i: 'a column number',
    parameters: 'parameter numbers',
    sums: 'made of constant column names',
    tenantId: 'a sort key in JavaScript, not SQL',
    provider: 'a sort key in JavaScript, not SQL',
  },
  'store/scope.ts': {
    schema: 'the quoted schema, set when the database is opened',
    table: 'a literal, passed by callers in this file',
    column: 'a literal, passed by callers in this file',
    id: 'a tenant ID, checked to be a UUID one line above',
  },
  'store/sealed.ts': {
    table: 'one of three literals, by type',
    column: 'from a constant, by table',
    'asText(column)': 'see column',
    "fromText(column, '$2')": 'see column',
    "fromText(column, 'n.name')": 'see column',
    text: 'a literal parameter or column, passed by callers in this file',
  },
  'store/session.ts': {
    name: 'the literal name of a setting, in the store',
    value: 'the value of a setting: a literal of the store or a configured number',
    isLocal: 'true or false, by type',
    'Number(processID ?? 0)': 'a number',
    access: 'one of three literals of this file',
    begin: 'see access',
    "selected.join(', ')": 'settings, see name and value, and literal columns of callers',
    "[...setConfigs(settings, false), transactionTimeout(false)].join(', ')": 'settings, see name and value',
  },
  'store/signals.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
    maxNameLength: 'a numeric constant of another file',
    'signalColumns(db, payload)': 'literal columns, with or without payload',
  },
  'store/stats.ts': {
    from: 'a literal, passed by callers in this file',
    jobs: 'the quoted schema and constants',
    source: 'one of two literal relations of this file',
    status: 'one of three literals, by type',
    table: 'a relation name, passed as a parameter',
    '100 * share': 'a computed number',
  },
  'store/tenants.ts': {
    'withinBytes(page, cut)': 'a page, cut by columns named one line above',
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
  'dev/demo.ts': {
    schema: 'the schema, quoted by the driver',
    'database.schema': 'the schema, quoted by the driver',
  },
  'dev/demo-load.ts': { schema: 'the schema, quoted by the driver' },
};

/** Statements that are built elsewhere than where they are sent. */
export const allowedStatements: Record<string, Record<string, string>> = {
  'store/database.ts': {
    text: 'all statements of the store pass here',
    'withTimeout(text, values, timeoutMs)': 'the same, with a timeout',
  },
  'store/jobs.ts': { 'pendingIncremental(db.schema)': 'a literal of this file' },
  'store/migrate.ts': {
    sql: 'a migration file',
    'beginText(client, false, unlimited)': 'see store/session.ts',
    text: 'a statement of suitable.ts',
  },
  'store/gated.ts': { text: 'a statement of the store' },
  'store/reserved.ts': { text: 'a statement of the store' },
  'store/single.ts': {
    text: 'a statement of the store',
    clockText: 'built a few lines above',
    'beginText(client, false, limits)': 'see store/session.ts',
  },
  'store/session.ts': { statement: 'built a few lines above' },
  'connectors/postgres/session.ts': { text: 'built by statements.ts' },
};
