import { SynclineError } from '../contract/errors.ts';
import type { Queryable } from './database.ts';
import { migrations as knownMigrations, type Migration } from './migrations.inline.ts';
import { sql } from './sql.ts';
import { type ObjectNames, requireSuitable } from './suitable.ts';

/** The oldest upgradable schema. */
export const firstVersion = (migrations: readonly Migration[]) => migrations.at(0)?.version ?? 0;
export const latestVersion = (migrations: readonly Migration[]) => migrations.at(-1)?.version ?? 0;

const named = (migrations: readonly Migration[], pattern: RegExp) =>
  migrations.flatMap(({ sql }) => [...sql.matchAll(pattern)].map(([, name]) => name as string));

/** What the migrations create in a schema. */
export const objectNames = (migrations: readonly Migration[]): ObjectNames => ({
  tables: ['schema_migrations', ...named(migrations, /^CREATE TABLE (\w+)/gm)],
  others: named(migrations, /^CREATE (?:(?:UNIQUE )?INDEX(?: CONCURRENTLY)?|SEQUENCE) (\w+)/gm),
  functions: named(migrations, /^CREATE (?:FUNCTION|PROCEDURE) (\w+)/gm),
});

/** What an upgrade from `current` adds, except for commands outside a transaction: they may be repeated. */
export function addedNames(migrations: readonly Migration[], current: number): string[] {
  const names = (some: readonly Migration[]) => Object.values(objectNames(some)).flat();
  const isOld = (migration: Migration) => migration.version <= current || migration.withoutTransaction;
  const old = names(migrations.filter(isOld));
  return names(migrations.filter((migration) => !isOld(migration))).filter((name) => !old.includes(name));
}

/** This release also runs on it: processes can be replaced first. */
export const previousVersion = 11;

export async function checkSchema(db: Queryable, schema: string): Promise<number> {
  const { isOurs } = await requireSuitable(db.query, schema, objectNames(knownMigrations));
  if (!isOurs) {
    throw new SynclineError('SCHEMA_MISSING', `The database has no Syncline schema "${schema}" yet.`, {
      hint: 'Run `syncline migrate` first.',
    });
  }
  const [current, known] = [await appliedVersion(db), latestVersion(knownMigrations)];
  if (current > known) throw newerSchema(schema, current, known);
  if (current < firstVersion(knownMigrations)) throw unreleasedSchema(schema, current);
  if (current < previousVersion) {
    throw new SynclineError(
      'SCHEMA_OUTDATED',
      `The schema "${schema}" is at version ${current}; this release needs version ${previousVersion} or ${known}.`,
      { hint: 'Run `syncline migrate` first.' },
    );
  }
  return current;
}

export const isOutdated = (version: number): boolean => version < latestVersion(knownMigrations);

const appliedVersionSql = sql<{ version: number }>`
  SELECT coalesce(max(version), 0) AS version FROM :schema.schema_migrations`;

export async function appliedVersion(db: Queryable): Promise<number> {
  const row = await appliedVersionSql.first(db);
  return row?.version ?? 0;
}

export function unreleasedSchema(schema: string, current: number): SynclineError {
  return new SynclineError(
    'SCHEMA_OUTDATED',
    `The schema "${schema}" is at version ${current}, from before the first release: recreate it.`,
    { hint: 'Drop the schema, then run `syncline migrate`. Nothing was changed.' },
  );
}

export function newerSchema(schema: string, current: number, known: number): SynclineError {
  return new SynclineError(
    'SCHEMA_NEWER',
    `The schema "${schema}" is at version ${current}; this release supports versions up to ${known}.`,
    { hint: 'Upgrade Syncline; nothing was changed.' },
  );
}
