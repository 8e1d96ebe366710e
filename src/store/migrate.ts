import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { never, retryDelayMs } from '../platform/retry.ts';
import type { Queryable } from './database.ts';
import { isConflict, isLockTimeout } from './database-errors.ts';
import { migrations as knownMigrations, type Migration } from './migrations.inline.ts';
import { beginText, openSession } from './session.ts';
import { sql } from './sql.ts';
import { requireSuitable } from './suitable.ts';

export interface MigrationResult {
  schema: string;
  /** In order. */
  applied: string[];
  version: number;
}

/** The first creates the schema of the oldest release that can be upgraded. */
const firstVersion = (migrations: readonly Migration[]) => migrations.at(0)?.version ?? 0;
const latestVersion = (migrations: readonly Migration[]) => migrations.at(-1)?.version ?? 0;

const tableNames = (migrations: readonly Migration[]) => [
  'schema_migrations',
  ...migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name as string),
  ),
];

export interface MigrateOptions {
  ports: Pick<Ports, 'sleep' | 'random'>;
  /** An abort ends the retries. */
  signal?: AbortSignal;
  /** Called after a lock timeout. */
  onBlocked: (message: string) => void;
  /** Later writers queue behind the waiting lock request. */
  lockTimeoutMs?: number;
  /** Default: this release's. Tests add a future one. */
  migrations?: readonly Migration[];
}

const connectTimeoutMs = 10_000;
const defaultLockTimeoutMs = 5000;
/** About four minutes in total. */
const maxTries = 30;

/**
 * One transaction under an advisory transaction lock: safe for concurrent calls and transaction poolers.
 * A pending table lock blocks later writers, so the migration rolls back after `lockTimeoutMs` and
 * retries.
 */
export async function migrate(config: Config['database'], options: MigrateOptions): Promise<MigrationResult> {
  const { ports, signal = never, onBlocked, lockTimeoutMs = defaultLockTimeoutMs } = options;
  const migrations = options.migrations ?? knownMigrations;
  for (let tries = 1; ; tries++) {
    const outcome = await tryMigrate(config, migrations, lockTimeoutMs);
    if (!('holders' in outcome)) return outcome;
    const holders = outcome.holders.join(', ') || 'a session that has since ended';
    const waited = `waited ${lockTimeoutMs / 1000} s for a lock held by ${holders}`;
    const blocked = `The migration of schema "${config.schema}" ${waited}.`;
    if (tries === maxTries || signal.aborted) {
      throw new SynclineError('DATABASE_REFUSED', blocked, {
        hint: `Nothing changed in ${tries} attempts. End that transaction, then rerun \`syncline migrate\`.`,
      });
    }
    onBlocked(`${blocked} Retrying (${tries} of ${maxTries}).`);
    await ports.sleep(retryDelayMs(tries, ports.random()), signal);
  }
}

/** Returns the lock holders after a timeout. */
async function tryMigrate(
  config: Config['database'],
  migrations: readonly Migration[],
  lockTimeoutMs: number,
): Promise<MigrationResult | { holders: string[] }> {
  // Not pooled: a migration may exceed the statement timeout.
  const client = new pg.Client({
    connectionString: config.url,
    application_name: 'syncline migrate',
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const unlimited = { lock_timeout: 0, statement_timeout: 0, idle_in_transaction_session_timeout: 0 };
    await openSession(client, unlimited, connectTimeoutMs);
    await client.query(beginText(client, false, unlimited));
    // No lock timeout: only migrations wait here.
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [
      'syncline migrate',
      config.schema,
    ]);
    await client.query(`SELECT set_config('lock_timeout', $1, true)`, [String(lockTimeoutMs)]);
    const result = await applyPending(client, config.schema, migrations);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    if (!isLockTimeout(error) && !isConflict(error)) throw error;
    await client.query('ROLLBACK');
    return { holders: await findHolders(client, config.schema) };
  } finally {
    // Ending the session rolls back.
    await client.end().catch(() => {});
  }
}

async function findHolders(client: pg.Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT format('session %s (%s) on %s', l.pid, coalesce(nullif(a.application_name, ''), a.usename, '?'),
         string_agg(DISTINCT c.relname, ', ' ORDER BY c.relname)) AS holder
     FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
       LEFT JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.granted AND l.pid <> pg_backend_pid() AND n.nspname = $1 AND c.relkind IN ('r', 'p')
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     GROUP BY l.pid, a.application_name, a.usename, a.xact_start ORDER BY a.xact_start LIMIT 5`,
    [schema],
  );
  return rows.map(({ holder }) => holder);
}

async function applyPending(
  client: pg.Client,
  schema: string,
  migrations: readonly Migration[],
): Promise<MigrationResult> {
  const query = async <Row extends object>(text: string, values?: unknown[]) =>
    (await client.query<Row>(text, values)).rows;
  const isOurs = await requireSuitable(query, schema, tableNames(migrations));
  await enterSchema(client, schema);
  const current = isOurs ? await currentVersion(client) : await createVersions(client);
  if (isOurs && current < firstVersion(migrations)) throw unreleasedSchema(schema, current);
  if (current > latestVersion(migrations)) throw newerSchema(schema, current, latestVersion(migrations));

  const pending = migrations.filter((migration) => migration.version > current);
  for (const { version, name, sql: text } of pending) {
    await client.query(text);
    await client.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [version, name]);
  }
  return { schema, applied: pending.map(({ name }) => name), version: latestVersion(migrations) };
}

async function enterSchema(client: pg.Client, schema: string): Promise<void> {
  const quoted = pg.escapeIdentifier(schema);
  // CREATE SCHEMA IF NOT EXISTS needs the CREATE privilege even for an existing schema.
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${quoted}`);
  await client.query(`SET LOCAL search_path TO ${quoted}, pg_temp`);
}

async function createVersions(client: pg.Client): Promise<number> {
  await client.query(
    `CREATE TABLE schema_migrations (
       version integer PRIMARY KEY,
       name text NOT NULL,
       applied_at timestamptz NOT NULL DEFAULT now()
     )`,
  );
  return 0;
}

async function currentVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM schema_migrations',
  );
  return rows[0]?.version ?? 0;
}

/** Throws unless at this release's version. */
export async function checkSchema(db: Queryable, schema: string): Promise<number> {
  if (!(await requireSuitable(db.query, schema, tableNames(knownMigrations)))) {
    throw new SynclineError('SCHEMA_MISSING', `The database has no Syncline schema "${schema}" yet.`, {
      hint: 'Run `syncline migrate` first.',
    });
  }
  const [current, known] = [await appliedVersion(db), latestVersion(knownMigrations)];
  if (current > known) throw newerSchema(schema, current, known);
  if (current < firstVersion(knownMigrations)) throw unreleasedSchema(schema, current);
  if (current < known) {
    throw new SynclineError(
      'SCHEMA_OUTDATED',
      `The schema "${schema}" is at version ${current}; this release needs version ${known}.`,
      { hint: 'Run `syncline migrate` first.' },
    );
  }
  return current;
}

const appliedVersionSql = sql<{ version: number }>`
  SELECT coalesce(max(version), 0) AS version FROM :schema.schema_migrations`;

export async function appliedVersion(db: Queryable): Promise<number> {
  const row = await appliedVersionSql.first(db);
  return row?.version ?? 0;
}

function unreleasedSchema(schema: string, current: number): SynclineError {
  return new SynclineError(
    'SCHEMA_OUTDATED',
    `The schema "${schema}" is at version ${current}, from before the first release: recreate it.`,
    { hint: 'Drop the schema, then run `syncline migrate`. Nothing was changed.' },
  );
}

function newerSchema(schema: string, current: number, known: number): SynclineError {
  return new SynclineError(
    'SCHEMA_NEWER',
    `The schema "${schema}" is at version ${current}; this release supports versions up to ${known}.`,
    { hint: 'Upgrade Syncline; nothing was changed.' },
  );
}
