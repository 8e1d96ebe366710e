import { SynclineError } from '../contract/errors.ts';
import { expectedShape } from '../store/health/expected.ts';
import {
  findConstraints,
  findFunctions,
  findIndexes,
  findTriggers,
  missingPrivileges,
  type PartRow,
} from '../store/health/shape.ts';
import { checkSchema, isOutdated } from '../store/schema-version.ts';
import { type Check, error, type Finding, warning } from './check.ts';

const version: Check = {
  name: 'schema version',
  group: 'schema',
  anySchema: true,
  run: async ({ tx, config }) => {
    try {
      const version = await checkSchema(tx, config.database.schema);
      const findings = isOutdated(version)
        ? [
            warning(
              `The schema is at version ${version}, of the previous release.`,
              'Run `syncline migrate`.',
            ),
          ]
        : [];
      return { findings, detail: `version ${version}` };
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      return { findings: [error(thrown.message, thrown.hint ?? 'Run `syncline migrate`.')] };
    }
  },
};

function compareParts(
  expected: readonly Omit<PartRow, 'broken'>[],
  found: readonly PartRow[],
  {
    missing,
    broken,
  }: { missing: (part: Omit<PartRow, 'broken'>) => Finding; broken: (part: PartRow) => Finding },
): Finding[] {
  const keyOf = ({ table_name, name }: { table_name: string; name: string }) => `${table_name}.${name}`;
  const byKey = new Map(found.map((part) => [keyOf(part), part]));
  return expected.flatMap((part) => {
    const actual = byKey.get(keyOf(part));
    if (!actual) return [missing(part)];
    return actual.broken ? [broken(actual)] : [];
  });
}

/** CONCURRENTLY does not block writes. */
const createConcurrently = (definition: string) =>
  `${definition.replace(' INDEX ', ' INDEX CONCURRENTLY ')};`;
const isUnique = (definition: string) => definition.startsWith('CREATE UNIQUE');

const indexes: Check = {
  name: 'indexes',
  group: 'schema',
  run: async ({ tx }) => {
    const found = await findIndexes(tx);
    const findings = compareParts(expectedShape.indexes, found, {
      missing: ({ table_name, name, definition }) =>
        error(
          isUnique(definition)
            ? `Index ${name} on ${table_name} is missing: uniqueness is not enforced, and writes that ` +
                'rely on it (ON CONFLICT) fail.'
            : `Index ${name} on ${table_name} is missing: queries that use it scan the whole table.`,
          createConcurrently(definition),
        ),
      broken: ({ table_name, name, definition }) =>
        error(
          `Index ${name} on ${table_name} is invalid (its build did not finish): it is maintained but ` +
            'not used.',
          `DROP INDEX ${name}; ${createConcurrently(definition)}`,
        ),
    });
    const byName = new Map(expectedShape.indexes.map((part) => [part.name, part]));
    for (const { name, definition } of found) {
      const expected = byName.get(name);
      if (expected && isUnique(expected.definition) && !isUnique(definition))
        findings.push(
          error(
            `Index ${name} is not unique but must be.`,
            `DROP INDEX ${name}; ${createConcurrently(expected.definition)}`,
          ),
        );
    }
    return { findings, detail: `${found.length} indexes` };
  },
};

const triggers: Check = {
  name: 'triggers',
  group: 'schema',
  run: async ({ tx }) => ({
    findings: compareParts(expectedShape.triggers, await findTriggers(tx), {
      missing: ({ table_name, name, definition }) =>
        error(
          `Trigger ${name} on ${table_name} is missing: writes of other programs are not propagated.`,
          `${definition};`,
        ),
      broken: ({ table_name, name }) =>
        error(
          `Trigger ${name} on ${table_name} is disabled: writes of other programs are not propagated.`,
          `ALTER TABLE ${table_name} ENABLE TRIGGER ${name}; then see the "flags" checks: changes made ` +
            'meanwhile were missed.',
        ),
    }),
  }),
};

const constraints: Check = {
  name: 'constraints',
  group: 'schema',
  run: async ({ tx }) => ({
    findings: compareParts(expectedShape.constraints, await findConstraints(tx), {
      missing: ({ table_name, name, definition }) =>
        error(
          `Constraint ${name} of ${table_name} is missing.`,
          `ALTER TABLE ${table_name} ADD CONSTRAINT ${name} ${definition};`,
        ),
      broken: ({ table_name, name }) =>
        warning(
          `Constraint ${name} of ${table_name} was never validated for existing rows.`,
          `ALTER TABLE ${table_name} VALIDATE CONSTRAINT ${name};`,
        ),
    }),
  }),
};

const functions: Check = {
  name: 'functions',
  group: 'schema',
  run: async ({ tx }) => {
    const found = new Set(await findFunctions(tx));
    const missing = expectedShape.functions.filter((name) => !found.has(name));
    return {
      findings: missing.map((name) =>
        error(
          `Function ${name} is missing: its callers fail.`,
          'Recreate it from the migrations of this release (dist/store/migrations).',
        ),
      ),
    };
  },
};

const privileges: Check = {
  name: 'privileges',
  group: 'schema',
  anySchema: true,
  run: async ({ tx }) => ({
    findings: (await missingPrivileges(tx)).map(({ missing, grantee }) =>
      error(`Database role ${grantee} lacks the privilege ${missing}.`, `GRANT ${missing} TO ${grantee};`),
    ),
  }),
};

export const schemaChecks: Check[] = [version, indexes, triggers, constraints, functions, privileges];
