import { readdirSync } from 'node:fs';
import pg from 'pg';
import type { Queryable } from '../../src/store/database.ts';
import { type Statement, statements } from '../../src/store/sql.ts';
import { filledLookup } from './filled-lookup.ts';
import { nodes, type Plan } from './plan.ts';

export type Names = Pick<Queryable, 'schema' | 'tables'>;

/** Values that exist in the database. */
export interface Example {
  tenant: string;
  connection: string;
  provider: string;
  externalId: string;
}

/** Modules register their statements when they are loaded. */
export async function loadStatements(): Promise<readonly Statement<object>[]> {
  const folder = new URL('../../src/store/', import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts'))) await import(new URL(file, folder).href);
  return statements;
}

/** Plans with every filter set, with none, and with each filter alone. */
export async function plansOf(
  client: pg.Client,
  statement: Statement<object>,
  names: Names,
  example: Example,
): Promise<Plan[]> {
  const text = statement.text(names).replace(/^\s*EXPLAIN \(FORMAT JSON\)/, '');
  if (!/^\s*(WITH|SELECT|INSERT|UPDATE|DELETE|MERGE)/.test(text)) return [];
  const parameters = await parametersOf(client, statement, names, text);
  const plans: Plan[] = [];
  for (const values of variants(text, parameters, example)) {
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `EXPLAIN (FORMAT JSON) ${text}`,
      values,
    );
    plans.push(...nodes(rows[0]?.['QUERY PLAN'][0]?.Plan as Plan));
  }
  return plans;
}

/** How a prepared statement finds its rows: each scan with its index and the columns of its condition. */
export async function preparedScans(
  client: pg.Client,
  statement: Statement<object>,
  names: Names,
  example: Example,
): Promise<string[]> {
  const text = statement.text(names);
  const parameters = await parametersOf(client, statement, names, text);
  const values = parameters.map((parameter) => pg.escapeLiteral(exampleOf(parameter, example)));
  await client.query(`PREPARE scanned AS ${text}`);
  const list = values.length > 0 ? `(${values.join(', ')})` : '';
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `EXPLAIN (FORMAT JSON) EXECUTE scanned${list}`,
  );
  await client.query('DEALLOCATE scanned');
  const columns = (condition: string | undefined) =>
    [...(condition ?? '').matchAll(/\(?(\w+)(?:::\w+)? (?:[<>]=?|=)/g)].map(([, column]) => column).join(' ');
  return nodes(rows[0]?.['QUERY PLAN'][0]?.Plan as Plan)
    .filter((node) => node['Relation Name'] !== undefined && /Scan/.test(node['Node Type']))
    .map((node) =>
      [node['Relation Name'], node['Index Name'] ?? node['Node Type'], columns(node['Index Cond'])].join(
        ': ',
      ),
    )
    .sort();
}

interface Parameter {
  name: string;
  type: string;
}

async function parametersOf(
  client: pg.Client,
  statement: Statement<object>,
  names: Names,
  text: string,
): Promise<Parameter[]> {
  await client.query(`PREPARE typed AS ${text}`);
  const { rows } = await client.query<{ types: string[] }>(
    `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'typed'`,
  );
  await client.query('DEALLOCATE typed');
  const order = await parameterNames(statement, names);
  return (rows[0]?.types ?? []).map((type, i) => ({ name: order[i] as string, type }));
}

/** In the order of `$1`, `$2`, …: the values sent are the names that the statement asked for. */
async function parameterNames(statement: Statement<object>, names: Names): Promise<string[]> {
  let sent: unknown[] = [];
  const query = async (_text: string, values: unknown[] = []) => {
    sent = values;
    return [];
  };
  const nameOf = (_: object, key: string | symbol) => new Asked(String(key));
  await statement.all(
    { ...names, lookup: filledLookup(names.tables), query },
    new Proxy({}, { has: () => true, get: nameOf }),
  );
  return sent.map(String);
}

/** Also stands for a list of rows, which is read by column. */
class Asked {
  readonly #name: string;
  constructor(name: string) {
    this.#name = name;
  }
  map(read: (row: object) => unknown): unknown {
    return read(new Proxy({}, { get: (_, column) => `${this.#name}.${String(column)}` }));
  }
  toString(): string {
    return this.#name;
  }
}

function variants(text: string, parameters: readonly Parameter[], example: Example): (string | null)[][] {
  const used = (i: number, pattern: string) => new RegExp(pattern.replace('$', `\\$${i + 1}\\b`)).test(text);
  const all = parameters.map((parameter, i) => {
    if (used(i, 'LIKE $')) return `${example.externalId}%`;
    if (parameter.type === 'text' && used(i, '$::uuid')) return example.connection;
    if (parameter.type === 'text' && used(i, 'decode\\($')) return '00';
    return exampleOf(parameter, example);
  });
  const optional = parameters.map((_, i) => used(i, '$::\\w+ IS NULL'));
  const flags = parameters.map((_, i) => used(i, 'NOT $::boolean'));
  const none = all.map((value, i) => (optional[i] ? null : flags[i] ? 'false' : value));
  const single = all.flatMap((value, i) => (optional[i] || flags[i] ? [none.with(i, value)] : []));
  return [all, none, ...single];
}

function exampleOf({ name, type }: Parameter, example: Example): string {
  if (type.endsWith('[]')) {
    const element = exampleOf({ name, type: type.slice(0, -2) }, example);
    return `{"${element.replaceAll(/["\\]/g, '\\$&')}"}`;
  }
  const byType: Record<string, string> = {
    uuid: /tenant/i.test(name) ? example.tenant : example.connection,
    text: /status|inactive/i.test(name) ? 'paused' : example.provider,
    boolean: 'true',
    'timestamp with time zone': 'now',
    jsonb: '{}',
    bytea: '\\x00',
    interval: '1 hour',
  };
  return byType[type] ?? '100';
}
