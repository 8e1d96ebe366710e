import type { z } from 'zod';
import { descriptionSchema } from '../../src/connectors/http/description.ts';

interface Row {
  path: string;
  needed: boolean;
  must: string;
  about: string;
}

type Schema = z.core.$ZodType & { description?: string };
type Def = {
  type: string;
  error?: (issue: { code: string }) => unknown;
  shape?: Record<string, Schema>;
  valueType?: Schema;
  element?: Schema;
  options?: Schema[];
  innerType?: Schema;
  values?: unknown[];
  discriminator?: string;
};

const defOf = (schema: Schema) => schema._zod.def as unknown as Def;

/** The fields of a description, from its schema. */
export function httpFields(): string {
  const rows = rowsOf(descriptionSchema, '');
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(groupOf(row.path), [...(groups.get(groupOf(row.path)) ?? []), row]);
  return [...groups].map(([name, group]) => table(name, group)).join('\n\n');
}

function rowsOf(schema: Schema, path: string): Row[] {
  const { type, shape, valueType, element, options, innerType, discriminator } = defOf(schema);
  if (type === 'optional' && innerType) return rowsOf(innerType, path);
  if (type === 'record' && valueType) return rowsOf(valueType, `${path}.<name>`);
  if (type === 'array' && element) return rowsOf(element, `${path}[]`);
  if (type === 'union' && options && discriminator === undefined)
    return options.flatMap((option) => rowsOf(option, path));
  if (type === 'union' && options)
    return options.flatMap((option) => rowsOf(option, `${path}<${typeName(option)}>`));
  if (type !== 'object' || !shape) return [];
  return Object.entries(shape).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const def = defOf(field);
    const own: Row = {
      path: at,
      needed: def.type !== 'optional',
      must: mustOf(field),
      about: field.description ?? '',
    };
    return [own, ...rowsOf(field, at)];
  });
}

const typeName = (option: Schema) => String(defOf(defOf(option).shape?.['type'] as Schema).values?.[0]);

function mustOf(schema: Schema): string {
  const { type, innerType, error, values } = defOf(schema);
  if (type === 'optional' && innerType) return mustOf(innerType);
  if (type === 'literal') return `\`${values?.[0]}\``;
  return String(error?.({ code: 'invalid_type' }) ?? '');
}

/** Groups by the first path step; streams by their third. */
function groupOf(path: string): string {
  const [first = '', , third] = path
    .replaceAll(/<\w+>(?=\.|$)/g, (part) => (part === '<name>' ? part : ''))
    .split('.');
  if (first.startsWith('streams')) return third === undefined ? 'streams' : `streams.<name>.${third}`;
  return /^(?:auth|config|budgets|errors)/.test(first) ? first.replace('[]', '') : 'the description';
}

/** Merges fields that several types share into one row. */
function table(name: string, rows: readonly Row[]): string {
  const merged = new Map<string, Row & { types: string[] }>();
  for (const row of rows) {
    const type = /<(?!name>)(\w+)>/.exec(row.path)?.[1];
    const path = shortPath(row.path, name);
    const key = JSON.stringify([path, row.must, row.about]);
    const known = merged.get(key) ?? { ...row, path, types: [] };
    merged.set(key, { ...known, types: [...known.types, ...(type ? [type] : [])] });
  }
  const lines = [...merged.values()].map(({ path, needed, must, about, types }) => {
    const only = types.length > 0 && path !== 'type' ? ` (${types.join(', ')})` : '';
    return `| \`${path}\`${only} | ${needed ? 'yes' : ''} | ${must.replaceAll('|', '\\|')} | ${about.replaceAll('|', '\\|')} |`;
  });
  const title = name === 'the description' ? 'The description' : `\`${name}\``;
  return [
    `### ${title}`,
    '',
    '| field | required | must be | description |',
    '|---|---|---|---|',
    ...lines,
  ].join('\n');
}

function shortPath(path: string, group: string): string {
  const plain = path.replace(/<(?!name>)\w+>/, '');
  const short = plain.startsWith(group) && plain.length > group.length ? plain.slice(group.length) : plain;
  return short.replace(/^(\[\])?\./, '').replace('skipWhen[]', 'skipWhen');
}
