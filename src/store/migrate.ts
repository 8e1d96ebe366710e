import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../errors.ts';
import type { Queryable } from './database.ts';

interface Migration {
  version: number;
  name: string;
  sql: string;
}

export interface MigrationResult {
  schema: string;
  /** The names of the migrations that this call applied, in order. */
  applied: string[];
  version: number;
}

/** The migrations that this release knows, oldest first. */
function knownMigrations(): Migration[] {
  const folder = new URL('./migrations/', import.meta.url);
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.replace('.sql', ''),
      sql: readFileSync(new URL(file, folder), 'utf8'),
    }));
}

const latestVersion = (migrations: Migration[]) => migrations.at(-1)?.version ?? 0;

/**
 * Brings the schema to this release's version: all of it or nothing, in one transaction under an advisory lock that ends
 * with the transaction. So any number of processes may call it at once, also through a transaction pooler.
 */
export async function migrate(config: Config['database']): Promise<MigrationResult> {
  // A connection of its own: a migration may rightly take longer than any other statement is allowed to.
  const client = new pg.Client({
    connectionString: config.url,
    application_name: 'syncline migrate',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [
      'syncline migrate',
      config.schema,
    ]);
    const result = await applyPending(client, config.schema);
    await client.query('COMMIT');
    return result;
  } finally {
    // Ending the session rolls back what was not committed.
    await client.end().catch(() => {});
  }
}

async function applyPending(client: pg.Client, schema: string): Promise<MigrationResult> {
  const migrations = knownMigrations();
  await enterSchema(client, schema);
  const current = await currentVersion(client);
  if (current > latestVersion(migrations)) throw newerSchema(schema, current, latestVersion(migrations));

  const pending = migrations.filter((migration) => migration.version > current);
  for (const { version, name, sql } of pending) {
    await client.query(sql);
    await client.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [version, name]);
  }
  return { schema, applied: pending.map(({ name }) => name), version: latestVersion(migrations) };
}

async function enterSchema(client: pg.Client, schema: string): Promise<void> {
  const quoted = pg.escapeIdentifier(schema);
  // Asked first: CREATE SCHEMA IF NOT EXISTS wants the right to create one even when there is nothing to create.
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${quoted}`);
  await client.query(`SET LOCAL search_path TO ${quoted}, pg_temp`);
}

async function currentVersion(client: pg.Client): Promise<number> {
  const { rows: tables } = await client.query(
    `SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations'`,
  );
  if (tables.length === 0) {
    await client.query(
      'CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    );
  }
  const { rows } = await client.query<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM schema_migrations',
  );
  return rows[0]?.version ?? 0;
}

/** Refuses to run on a schema that this release does not know exactly; returns its version. */
export async function checkSchema(db: Queryable, schema: string): Promise<number> {
  const [found] = await db.query<{ present: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_migrations') AS present`,
    [schema],
  );
  if (!found?.present) {
    throw new SynclineError('SCHEMA_MISSING', `The database has no Syncline schema "${schema}" yet.`, {
      hint: 'Run `syncline migrate` first.',
    });
  }
  const [current, known] = [await appliedVersion(db), latestVersion(knownMigrations())];
  if (current > known) throw newerSchema(schema, current, known);
  if (current < known) {
    throw new SynclineError(
      'SCHEMA_OUTDATED',
      `The schema "${schema}" is at version ${current}; this release needs version ${known}.`,
      { hint: 'Run `syncline migrate` first.' },
    );
  }
  return current;
}

/** The version that the schema is at. */
export async function appliedVersion(db: Queryable): Promise<number> {
  const [row] = await db.query<{ version: number }>(
    `SELECT coalesce(max(version), 0) AS version FROM ${db.schema}.schema_migrations`,
  );
  return row?.version ?? 0;
}

function newerSchema(schema: string, current: number, known: number): SynclineError {
  return new SynclineError(
    'SCHEMA_NEWER',
    `The schema "${schema}" is at version ${current}, newer than version ${known}, the last that this release knows.`,
    { hint: 'Upgrade Syncline; nothing was changed.' },
  );
}
