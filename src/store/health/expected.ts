import { expectedStatements } from './expected-statements.ts';
import type { PartRow } from './shape.ts';

type Part = Omit<PartRow, 'broken'>;

const statements = expectedStatements
  .split(';\n')
  .map((statement) => statement.trim().replaceAll(/\s+/g, ' '))
  .filter((statement) => statement !== '');

const partsIn = (pattern: RegExp): Part[] =>
  statements.flatMap((statement) => {
    const { table_name = '', name = '', definition = statement } = pattern.exec(statement)?.groups ?? {};
    return name === '' ? [] : [{ table_name, name, definition }];
  });

/** The migrated schema as Postgres prints it; `definition` recreates a part. */
export const expectedShape: {
  indexes: readonly Part[];
  triggers: readonly Part[];
  constraints: readonly Part[];
  functions: readonly string[];
} = {
  indexes: partsIn(/^CREATE (UNIQUE )?INDEX (?<name>\S+) ON (?<table_name>\S+)/),
  triggers: partsIn(/^CREATE (CONSTRAINT )?TRIGGER (?<name>\S+) .*? ON (?<table_name>\S+)/),
  constraints: partsIn(/^ALTER TABLE (?<table_name>\S+) ADD CONSTRAINT (?<name>\S+) (?<definition>.*)$/),
  functions: partsIn(/^CREATE FUNCTION (?<name>\w+)/).map(({ name }) => name),
};
