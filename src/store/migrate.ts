import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { never, retry, retryDelayMs } from '../platform/retry.ts';
import { isConflict, isLockTimeout } from './database-errors.ts';
import { migrations as knownMigrations, type Migration } from './migrations.inline.ts';
import {
  addedNames,
  firstVersion,
  latestVersion,
  newerSchema,
  objectNames,
  unreleasedSchema,
} from './schema-version.ts';
import { beginText, isShared, openSession } from './session.ts';
import { requireNone, requireSuitable } from './suitable.ts';

/** An applied migration file. */
export interface MigrationStep {
  name: string;
  /** Of its statements; locks are held until the step's transaction ends. */
  durationMs: number;
}

/** What `migrate` applied. */
export interface MigrationResult {
  schema: string;
  applied: string[];
  /** `applied` with durations. */
  steps: MigrationStep[];
  version: number;
}

export interface MigrateOptions {
  ports: Pick<Ports, 'sleep' | 'random' | 'monotonicMs'>;
  signal?: AbortSignal;
  /** After a lock timeout, and before commands outside a transaction. */
  onProgress: (message: string) => void;
  lockTimeoutMs?: number;
  /** Tests add a future one. */
  migrations?: readonly Migration[];
}

const connectTimeoutMs = 10_000;
const defaultLockTimeoutMs = 5000;
const maxTries = 30;

type Outcome = { steps: MigrationStep[]; isComplete: boolean } | { holders: string[] };

/**
 * Consecutive transactional migrations share a transaction. An advisory transaction lock serializes calls,
 * also behind transaction poolers. A waiting table lock blocks later writers: a transaction rolls back after
 * `lockTimeoutMs` and retries.
 */
export async function migrate(config: Config['database'], options: MigrateOptions): Promise<MigrationResult> {
  const { ports, signal = never, onProgress, lockTimeoutMs = defaultLockTimeoutMs } = options;
  const migrations = options.migrations ?? knownMigrations;
  const steps: MigrationStep[] = [];
  for (let tries = 1; ; tries++) {
    const outcome = await migrateSome(config, { ports, signal, migrations, lockTimeoutMs, onProgress });
    if (!('holders' in outcome)) {
      steps.push(...outcome.steps);
      if (outcome.isComplete)
        return { schema: config.schema, applied: namesOf(steps), steps, version: latestVersion(migrations) };
      tries = 0;
      continue;
    }
    const holders = outcome.holders.join(', ') || 'a session that has since ended';
    const waited = `waited ${lockTimeoutMs / 1000} s for a lock held by ${holders}`;
    const blocked = `The migration of schema "${config.schema}" ${waited}.`;
    if (tries === maxTries || signal.aborted) {
      const done = steps.length === 0 ? 'Nothing changed' : `Applied ${namesOf(steps).join(', ')}`;
      throw new SynclineError('DATABASE_REFUSED', blocked, {
        hint: `${done} in ${tries} attempts. End that transaction, then rerun \`syncline migrate\`.`,
      });
    }
    onProgress(`${blocked} Retrying (${tries} of ${maxTries}).`);
    await ports.sleep(retryDelayMs(tries, ports.random()), signal);
  }
}

const namesOf = (steps: readonly MigrationStep[]) => steps.map(({ name }) => name);

type Step = Required<MigrateOptions>;

const unlimited = { lock_timeout: 0, statement_timeout: 0, idle_in_transaction_session_timeout: 0 };

/** Not pooled: a migration may exceed the statement timeout. */
async function withClient<T>(
  config: Config['database'],
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: config.url,
    application_name: 'syncline migrate',
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await openSession(client, unlimited, connectTimeoutMs);
    return await work(client);
  } finally {
    // Ending the session rolls back.
    await client.end().catch(() => {});
  }
}

function migrateSome(config: Config['database'], step: Step): Promise<Outcome> {
  return withClient(config, async (client) => {
    try {
      await beginAlone(client, config.schema, step);
      await setLockTimeout(client, step.lockTimeoutMs);
      const outcome = await applySome(client, config, step);
      await client.query('COMMIT');
      return outcome;
    } catch (error) {
      if (!isLockTimeout(error) && !isConflict(error)) throw error;
      await client.query('ROLLBACK');
      return { holders: await findHolders(client, config.schema) };
    }
  });
}

const lockPollMs = 250;

const tryLockText = 'SELECT pg_try_advisory_xact_lock(hashtext($1), hashtext($2)) AS locked';

/**
 * Polls: a waiting statement holds a snapshot, for which the holder's CREATE INDEX CONCURRENTLY would wait.
 */
async function beginAlone(client: pg.Client, schema: string, { ports, signal }: Step): Promise<void> {
  for (;;) {
    await client.query(beginText(client, false, unlimited));
    const { rows } = await client.query<{ locked: boolean }>(tryLockText, ['syncline migrate', schema]);
    if (rows[0]?.locked) return;
    await client.query('ROLLBACK');
    signal.throwIfAborted();
    await ports.sleep(lockPollMs, signal);
  }
}

const findHoldersText = `SELECT format('session %s (%s) on %s', l.pid,
      coalesce(nullif(a.application_name, ''), a.usename, '?'),
      string_agg(DISTINCT c.relname, ', ' ORDER BY c.relname)) AS holder
  FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.granted AND l.pid <> pg_backend_pid() AND n.nspname = $1 AND c.relkind IN ('r', 'p')
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  GROUP BY l.pid, a.application_name, a.usename, a.xact_start ORDER BY a.xact_start LIMIT 5`;

async function findHolders(client: pg.Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ holder: string }>(findHoldersText, [schema]);
  return rows.map(({ holder }) => holder);
}

const addVersionText = 'INSERT INTO schema_migrations (version, name) VALUES ($1, $2)';

async function applySome(client: pg.Client, config: Config['database'], step: Step): Promise<Outcome> {
  const { schema } = config;
  const { migrations, onProgress, ports } = step;
  const query = async <Row extends object>(text: string, values?: unknown[]) =>
    (await client.query<Row>(text, values)).rows;
  const { isOurs, taken } = await requireSuitable(query, schema, objectNames(migrations));
  await enterSchema(client, schema);
  const current = isOurs ? await currentVersion(client) : await createVersions(client);
  if (isOurs && current < firstVersion(migrations)) throw unreleasedSchema(schema, current);
  if (current > latestVersion(migrations)) throw newerSchema(schema, current, latestVersion(migrations));

  const added = isOurs ? addedNames(migrations, current) : [];
  const foreign = taken.filter((name) => added.includes(name));
  requireNone(foreign, schema, 'Rename or move them, then rerun `syncline migrate`.');

  const pending = migrations.filter((migration) => migration.version > current);
  const alone = isOurs ? pending.findIndex((migration) => migration.withoutTransaction) : -1;
  const some = pending.slice(0, alone === -1 ? undefined : Math.max(alone, 1));
  if (isOurs && alone !== 0 && some.length > 0) await lockHotTables(client, step);
  // Holds the advisory lock, but no snapshot that blocks CONCURRENTLY.
  const steps: MigrationStep[] = [];
  for (const migration of some) {
    const { version, name } = migration;
    const startedMs = ports.monotonicMs();
    if (alone === 0) await runCommands(config, migration, onProgress);
    else await client.query(textWithin(migration));
    await client.query(addVersionText, [version, name]);
    steps.push({ name, durationMs: Math.round(ports.monotonicMs() - startedMs) });
  }
  return { steps, isComplete: some.length === pending.length };
}

const setLockTimeoutText = `SELECT set_config('lock_timeout', $1, true)`;

const setLockTimeout = (client: pg.Client, ms: number) => client.query(setLockTimeoutText, [String(ms)]);

const lockHotTablesText = 'LOCK TABLE connections, sync_jobs, signals, feed IN ACCESS EXCLUSIVE MODE';
/** Per table: in total below deadlock_timeout (1 s), so no writer becomes the victim. */
const hotLockTimeoutMs = 200;

/** Triggers and foreign keys make writers lock two of them in either order. */
async function lockHotTables(client: pg.Client, { ports, signal, lockTimeoutMs }: Step): Promise<void> {
  const endMs = ports.monotonicMs() + lockTimeoutMs;
  await setLockTimeout(client, Math.min(hotLockTimeoutMs, lockTimeoutMs));
  await client.query('SAVEPOINT unlocked');
  const lock = () =>
    client.query(lockHotTablesText).catch(async (error: unknown) => {
      await client.query('ROLLBACK TO unlocked');
      throw error;
    });
  await retry(lock, {
    ports,
    attempts: Number.POSITIVE_INFINITY,
    shouldRetry: (error) => isLockTimeout(error) && ports.monotonicMs() < endMs,
    delayMs: (_, random) => retryDelayMs(0, random),
    signal,
  });
  await setLockTimeout(client, lockTimeoutMs);
}

/** A new schema has no writers; a transaction works through a pooler. */
const textWithin = ({ sql: text }: Migration) => text.replaceAll('INDEX CONCURRENTLY', 'INDEX');

/** A line that ends with `;` ends a command. */
const commandsOf = (text: string) => text.split(/;$/m).filter((command) => /^\s*[A-Z]/m.test(command));

/**
 * On its own session, without a lock timeout: CONCURRENTLY blocks no writers; an interrupted build starts
 * over.
 */
function runCommands(
  config: Config['database'],
  { name, sql: text }: Migration,
  onProgress: (message: string) => void,
): Promise<void> {
  return withClient(config, async (client) => {
    if (isShared(client)) throw needsDirectConnection(config.schema, name);
    await client.query(`SET search_path TO ${pg.escapeIdentifier(config.schema)}, pg_temp`);
    for (const command of commandsOf(text)) {
      onProgress(`Migration ${name}: ${command.split('\n').at(-1)?.trim()}`);
      await client.query(command);
    }
  });
}

const findSchemaText = 'SELECT FROM pg_namespace WHERE nspname = $1';

async function enterSchema(client: pg.Client, schema: string): Promise<void> {
  const quoted = pg.escapeIdentifier(schema);
  // IF NOT EXISTS needs CREATE even for an existing schema.
  const { rows } = await client.query(findSchemaText, [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${quoted}`);
  await client.query(`SET LOCAL search_path TO ${quoted}, pg_temp`);
}

const createVersionsText = `CREATE TABLE schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`;

async function createVersions(client: pg.Client): Promise<number> {
  await client.query(createVersionsText);
  return 0;
}

const currentVersionText = 'SELECT coalesce(max(version), 0) AS version FROM schema_migrations';

async function currentVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(currentVersionText);
  return rows[0]?.version ?? 0;
}

function needsDirectConnection(schema: string, name: string): SynclineError {
  return new SynclineError(
    'DATABASE_UNSUITABLE',
    `The migration ${name} of schema "${schema}" runs outside a transaction, which a transaction pooler ` +
      'does not allow.',
    { hint: 'Run `syncline migrate` with the address of the Postgres server as SYNCLINE_DATABASE_URL.' },
  );
}
