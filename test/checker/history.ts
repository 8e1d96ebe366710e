/** The checker depends only on this, not on the engine. */
export type Sql = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Recorded tables and their id columns. */
export const watchedTables = {
  connections: 'id',
  sync_jobs: 'id',
  signals: 'id',
  processes: 'id',
  events: 'id',
  feed: 'batch',
} as const;
export type WatchedTable = keyof typeof watchedTables;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const namesOf = (schema: string) => ({ engine: quoted(schema), history: quoted(`${schema}_history`) });

/** Without the payload, to keep the history small. */
const shown = (row: string) => `to_jsonb(${row}) - 'payload'`;

/**
 * Installs triggers that record every version of every row, for all writers. Idempotent.
 *
 * Positions are in commit order: the first version of a transaction inserts a row into `commits`; a deferred
 * trigger on that row runs during COMMIT, takes a lock and draws the position. Postgres releases the lock
 * only after the commit is visible, so a higher position committed later, and a reader that sees a position
 * sees all lower ones.
 *
 * The lock cannot deadlock: it is the last one that a transaction takes. Triggers that fire after it (such as
 * that of the feed's position) write only rows of their own transaction.
 */
export async function keepHistory(sql: Sql, schema = 'syncline'): Promise<void> {
  const { engine, history } = namesOf(schema);
  const tables = Object.keys(watchedTables);
  await sql(`DO $install$
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtext('${history.replaceAll("'", "''")}'), 1);
      IF to_regclass('${history.replaceAll("'", "''")}.versions') IS NOT NULL THEN
        RETURN;
      END IF;
      CREATE SCHEMA ${history};
      CREATE SEQUENCE ${history}.position;
      CREATE TABLE ${history}.commits (xid xid8 PRIMARY KEY, position bigint UNIQUE, at timestamptz);
      CREATE TABLE ${history}.versions (
        seq bigint GENERATED ALWAYS AS IDENTITY,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        -- The application_name of the session, and an identifier of the session.
        writer text NOT NULL DEFAULT current_setting('application_name'),
        session text NOT NULL DEFAULT pg_backend_pid() || ' ' || coalesce(inet_client_port(), 0),
        relation text NOT NULL,
        operation text NOT NULL,
        old jsonb,
        new jsonb
      );
      CREATE INDEX ON ${history}.versions (xid);

      CREATE FUNCTION ${history}.write_version() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN
        INSERT INTO ${history}.commits (xid) VALUES (pg_current_xact_id()) ON CONFLICT (xid) DO NOTHING;
        INSERT INTO ${history}.versions (relation, operation, old, new) VALUES (TG_TABLE_NAME, TG_OP,
          CASE WHEN TG_OP <> 'INSERT' THEN ${shown('OLD')} END,
          CASE WHEN TG_OP <> 'DELETE' THEN ${shown('NEW')} END);
        RETURN NULL;
      END $body$;

      -- This wait must not count towards the lock_timeout of the transaction.
      CREATE FUNCTION ${history}.give_position() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $body$
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('${history.replaceAll("'", "''")}'), 2);
        UPDATE ${history}.commits SET position = nextval('${history.replaceAll("'", "''")}.position'), at = clock_timestamp()
        WHERE xid = NEW.xid;
        RETURN NULL;
      END $body$;
      CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON ${history}.commits
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${history}.give_position();

      CREATE FUNCTION ${history}.forget() RETURNS void LANGUAGE plpgsql AS $body$
      BEGIN
        LOCK TABLE ${tables.map((table) => `${engine}.${table}`).join(', ')} IN SHARE ROW EXCLUSIVE MODE;
        TRUNCATE ${history}.versions, ${history}.commits;
        INSERT INTO ${history}.commits (xid) VALUES (pg_current_xact_id());
        ${tables
          .filter((table) => table !== 'events')
          .map(
            (table) =>
              `INSERT INTO ${history}.versions (relation, operation, new) SELECT '${table}', 'START', ${shown('t')} FROM ${engine}.${table} t;`,
          )
          .join('\n        ')}
      END $body$;

      ${tables
        .map(
          (table) => `CREATE TRIGGER zz_history AFTER INSERT OR UPDATE OR DELETE ON ${engine}.${table}
        FOR EACH ROW EXECUTE FUNCTION ${history}.write_version();`,
        )
        .join('\n      ')}
      PERFORM ${history}.forget();
    END $install$`);
}

export async function forgetHistory(sql: Sql, schema = 'syncline'): Promise<void> {
  await sql(`SELECT ${namesOf(schema).history}.forget()`);
}

export interface Version {
  table: WatchedTable;
  /** `START`: existed when the history began. */
  operation: 'START' | 'INSERT' | 'UPDATE' | 'DELETE';
  before: unknown;
  after: unknown;
}

/** The writes of one transaction, in order. */
export interface Written {
  position: string;
  /** Commit time, by the database's clock. */
  atMs: number;
  writer: string;
  session: string;
  versions: Version[];
}

const commitsPerPage = 500;

interface StoredVersion {
  position: string;
  at_ms: number;
  writer: string;
  session: string;
  relation: WatchedTable;
  operation: Version['operation'];
  old: string | null;
  new: string | null;
}

export async function* readHistory(sql: Sql, schema = 'syncline'): AsyncGenerator<Written> {
  const { history } = namesOf(schema);
  const fromJson = (text: string | null): unknown => (text === null ? undefined : JSON.parse(text));
  let after = '0';
  for (;;) {
    const rows = await sql<StoredVersion>(
      `SELECT c.position::text, (extract(epoch FROM c.at) * 1000)::float8 AS at_ms, v.writer, v.session,
         v.relation, v.operation, v.old::text, v.new::text
       FROM (SELECT * FROM ${history}.commits WHERE position > $1::bigint ORDER BY position LIMIT ${commitsPerPage}) c
       JOIN ${history}.versions v USING (xid) ORDER BY c.position, v.seq`,
      [after],
    );
    let current: Written | undefined;
    for (const row of rows) {
      if (current?.position !== row.position) {
        if (current) yield current;
        const { position, at_ms: atMs, writer, session } = row;
        current = { position, atMs, writer, session, versions: [] };
      }
      const { relation: table, operation } = row;
      current.versions.push({ table, operation, before: fromJson(row.old), after: fromJson(row.new) });
    }
    if (!current) return;
    yield current;
    after = current.position;
  }
}

export async function readTable(sql: Sql, table: WatchedTable, schema = 'syncline'): Promise<unknown[]> {
  const rows = await sql<{ row: string }>(
    `SELECT (${shown('t')})::text AS row FROM ${namesOf(schema).engine}.${table} t`,
  );
  return rows.map(({ row }) => JSON.parse(row) as unknown);
}
