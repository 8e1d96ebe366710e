import type { Queryable } from './database.ts';

type Names = Pick<Queryable, 'schema' | 'tables'>;
type Values = Record<string, unknown>;

/**
 * `:schema.sync_jobs` is the table, `:scope.sync_jobs` the caller's rows (scope.ts), `:limit` a parameter. In
 * psql: `\set schema syncline`, `\set scope syncline`.
 */
export interface Statement<Row extends object> {
  text(names: Names): string;
  all(db: Queryable, values?: Values): Promise<Row[]>;
  first(db: Queryable, values?: Values): Promise<Row | undefined>;
}

/** A test prepares each. */
export const statements: Statement<object>[] = [];

/** At module level, constants only: built once per schema and scope. */
export function sql<Row extends object>(
  strings: TemplateStringsArray,
  ...parts: (string | number)[]
): Statement<Row> {
  const { template, parameters } = numbered(String.raw({ raw: strings }, ...parts).trim());
  const texts = new WeakMap<Names['tables'], string>();
  const text = (names: Names) => {
    let known = texts.get(names.tables);
    if (known === undefined) {
      known = qualified(template, names);
      texts.set(names.tables, known);
    }
    return known;
  };
  const readsLookup = template.includes(':scope.listed_connections');
  const all = (db: Queryable, values: Values = {}) => {
    const parameterValues = parameters.length === 0 ? undefined : valuesOf(parameters, values);
    if (!readsLookup) return db.query<Row>(text(db), parameterValues);
    const { schema } = db;
    return db.lookup.tables(db).then((tables) => db.query<Row>(text({ schema, tables }), parameterValues));
  };
  const statement = {
    text,
    all,
    first: async (db: Queryable, values?: Values) => (await all(db, values))[0],
  };
  statements.push(statement);
  return statement;
}

/** Rows, or columns by name, as a relation; `tenantId` becomes `tenant_id`. */
export function unnest(alias: string, types: Record<string, string>, ordinality?: string): string {
  const arrays = Object.entries(types).map(([key, type]) => `:${alias}.${key}::${type}[]`);
  const columns = Object.keys(types).map((key) => key.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`));
  const numbering = ordinality === undefined ? '' : 'WITH ORDINALITY ';
  if (ordinality !== undefined) columns.push(ordinality);
  return `unnest(${arrays.join(', ')}) ${numbering}AS ${alias} (${columns.join(', ')})`;
}

interface Parameter {
  name: string;
  column: string | undefined;
}

const reference = /(?<![:\w]):([a-zA-Z]\w*)(?:\.(\w+))?/g;
const isRelation = (name: string) => name === 'schema' || name === 'scope';

/** `$1`, `$2`, … in order of first use. */
function numbered(source: string): { template: string; parameters: Parameter[] } {
  const parameters = new Map<string, Parameter>();
  const template = source.replaceAll(reference, (whole, name: string, column: string | undefined) => {
    if (isRelation(name)) return whole;
    parameters.set(whole, { name, column });
    return `$${[...parameters.keys()].indexOf(whole) + 1}`;
  });
  return { template, parameters: [...parameters.values()] };
}

function qualified(template: string, { schema, tables }: Names): string {
  return template.replaceAll(reference, (whole, name: string, table: string) => {
    const relation = name === 'schema' ? `${schema}.${table}` : tables[table as keyof typeof tables];
    if (relation === undefined) throw new Error(`There is no relation ${whole}`);
    return relation;
  });
}

function valuesOf(parameters: readonly Parameter[], values: Values): unknown[] {
  return parameters.map(({ name, column }) => {
    if (!(name in values)) throw new Error(`The statement needs a value for :${name}`);
    if (column === undefined) return values[name];
    const rows = values[name] as readonly Values[] | Values;
    return Array.isArray(rows) ? rows.map((row) => row[column]) : (rows as Values)[column];
  });
}
