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
import { checkSchema } from '../store/migrate.ts';
import { type Check, error, type Finding, warning } from './check.ts';

const version: Check = {
  name: 'schema version',
  group: 'schema',
  anySchema: true,
  look: async ({ tx, config }) => {
    try {
      return { findings: [], detail: `version ${await checkSchema(tx, config.database.schema)}` };
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      return { findings: [error(thrown.message, thrown.hint ?? 'Run `syncline migrate`.')] };
    }
  },
};

/** Compares what is there with what the migrations made. */
function compared(
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
    const there = byKey.get(keyOf(part));
    if (!there) return [missing(part)];
    return there.broken ? [broken(there)] : [];
  });
}

/** Built without keeping anybody from writing. */
const building = (definition: string) => `${definition.replace(' INDEX ', ' INDEX CONCURRENTLY ')};`;
const isUnique = (definition: string) => definition.startsWith('CREATE UNIQUE');

const indexes: Check = {
  name: 'indexes',
  group: 'schema',
  look: async ({ tx }) => {
    const found = await findIndexes(tx);
    const findings = compared(expectedShape.indexes, found, {
      missing: ({ table_name, name, definition }) =>
        error(
          isUnique(definition)
            ? `Index ${name} on ${table_name} is missing: what it keeps unique is not, and every write that relies on it fails.`
            : `Index ${name} on ${table_name} is missing: what it finds is searched for in the whole table.`,
          building(definition),
        ),
      broken: ({ table_name, name, definition }) =>
        error(
          `Index ${name} on ${table_name} was not built to its end: it is written to, and not used.`,
          `DROP INDEX ${name}; ${building(definition)}`,
        ),
    });
    const byName = new Map(expectedShape.indexes.map((part) => [part.name, part]));
    for (const { name, definition } of found) {
      const expected = byName.get(name);
      if (expected && isUnique(expected.definition) && !isUnique(definition))
        findings.push(
          error(
            `Index ${name} is not unique, and must be.`,
            `DROP INDEX ${name}; ${building(expected.definition)}`,
          ),
        );
    }
    return { findings, detail: `${found.length} indexes` };
  },
};

const triggers: Check = {
  name: 'triggers',
  group: 'schema',
  look: async ({ tx }) => ({
    findings: compared(expectedShape.triggers, await findTriggers(tx), {
      missing: ({ table_name, name, definition }) =>
        error(
          `Trigger ${name} on ${table_name} is missing: what others write there is not carried over.`,
          `${definition};`,
        ),
      broken: ({ table_name, name }) =>
        error(
          `Trigger ${name} on ${table_name} is switched off: what others write there is not carried over.`,
          `ALTER TABLE ${table_name} ENABLE TRIGGER ${name}; and look at "flags" again: what happened meanwhile was missed.`,
        ),
    }),
  }),
};

const constraints: Check = {
  name: 'constraints',
  group: 'schema',
  look: async ({ tx }) => ({
    findings: compared(expectedShape.constraints, await findConstraints(tx), {
      missing: ({ table_name, name, definition }) =>
        error(
          `Constraint ${name} of ${table_name} is missing.`,
          `ALTER TABLE ${table_name} ADD CONSTRAINT ${name} ${definition};`,
        ),
      broken: ({ table_name, name }) =>
        warning(
          `Constraint ${name} of ${table_name} was never checked for the rows that were there.`,
          `ALTER TABLE ${table_name} VALIDATE CONSTRAINT ${name};`,
        ),
    }),
  }),
};

const functions: Check = {
  name: 'functions',
  group: 'schema',
  look: async ({ tx }) => {
    const found = new Set(await findFunctions(tx));
    const missing = expectedShape.functions.filter((name) => !found.has(name));
    return {
      findings: missing.map((name) =>
        error(
          `Function ${name} is missing: what calls it fails.`,
          'Create it again as the migrations of this release do (dist/store/migrations).',
        ),
      ),
    };
  },
};

const privileges: Check = {
  name: 'privileges',
  group: 'schema',
  anySchema: true,
  look: async ({ tx }) => ({
    findings: (await missingPrivileges(tx)).map(({ missing, grantee }) =>
      error(
        `User ${grantee}, as whom this process connects, lacks ${missing}.`,
        `GRANT ${missing} TO ${grantee};`,
      ),
    ),
  }),
};

export const schemaChecks: Check[] = [version, indexes, triggers, constraints, functions, privileges];
