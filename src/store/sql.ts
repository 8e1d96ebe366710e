import type { Queryable } from './database.ts';
import { ownerParameter, type Relations } from './scope.ts';

type Names = Pick<Queryable, 'schema' | 'tables'>;
type Values = Record<string, unknown>;

/**
 * `:schema.sync_jobs` is the table, `:scope.sync_jobs` the caller's rows (scope.ts), `:limit` a parameter. In
 * psql: `\set schema syncline`, `\set scope syncline`.
 */
export interface Statement<Row extends object> {
  readonly isPrepared: boolean;
  text(names: Names): string;
  all(db: Queryable, values?: Values): Promise<Row[]>;
  first(db: Queryable, values?: Values): Promise<Row | undefined>;
}

/** A test prepares each. */
export const statements: Statement<object>[] = [];

/** At module level, constants only: built once per schema and scope. Postgres plans every execution. */
export function sql<Row extends object>(
  strings: TemplateStringsArray,
  ...parts: (string | number)[]
): Statement<Row> {
  return register(String.raw({ raw: strings }, ...parts), false);
}

/**
 * Postgres parses and plans it once per session, which takes longer than to execute it for a few rows. Only
 * for statements that one plan suits, whatever the parameters: no optional conditions.
 */
export function prepared<Row extends object>(
  strings: TemplateStringsArray,
  ...parts: (string | number)[]
): Statement<Row> {
  return register(String.raw({ raw: strings }, ...parts), true);
}

interface Built {
  text: string;
  takesOwner: boolean;
  /** Of the prepared statement. */
  name: string | undefined;
}

let preparedTexts = 0;

function register<Row extends object>(source: string, isPrepared: boolean): Statement<Row> {
  const { template, parameters } = numbered(source.trim());
  const texts = new WeakMap<Relations, Built>();
  const builtFor = (schema: string, relations: Relations): Built => {
    const known = texts.get(relations);
    if (known) return known;
    const text = qualified(template, schema, relations);
    const built = {
      text: text.replaceAll(ownerParameter, () => `$${parameters.length + 1}`),
      takesOwner: text.includes(ownerParameter),
      name: isPrepared ? `syncline_${++preparedTexts}` : undefined,
    };
    texts.set(relations, built);
    return built;
  };
  const readsLookup = template.includes(':scope.listed_connections');
  const send = (db: Queryable, { relations, owner }: Queryable['tables'], values: Values) => {
    const { text, takesOwner, name } = builtFor(db.schema, relations);
    const list = valuesOf(parameters, values);
    if (takesOwner) list.push(owner);
    return db.query<Row>(text, list.length === 0 ? undefined : list, name);
  };
  const all = (db: Queryable, values: Values = {}) =>
    readsLookup
      ? db.lookup.tables(db).then((tables) => send(db, tables, values))
      : send(db, db.tables, values);
  const statement: Statement<Row> = {
    isPrepared,
    text: ({ schema, tables }) => builtFor(schema, tables.relations).text,
    all,
    first: async (db, values) => (await all(db, values))[0],
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

function qualified(template: string, schema: string, relations: Relations): string {
  return template.replaceAll(reference, (whole, name: string, table: string) => {
    const relation = name === 'schema' ? `${schema}.${table}` : relations[table as keyof Relations];
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
