import { type OpenApi, resolveRef, type Schema } from './openapi.ts';
import { Prose } from './prose.tsx';

interface Props {
  api: OpenApi;
  schema: Schema;
  /** Not expanded again. */
  seen?: string[];
}

export function SchemaView({ api, schema, seen = [] }: Props) {
  const path = schema.$ref ? [...seen, schema.$ref] : seen;
  const target = resolveRef(api, schema);
  const fields = fieldsOf(api, target);
  if (fields.length > 0)
    return (
      <ul class="properties">
        {fields.map(([name, field, required]) => (
          <FieldView key={name} api={api} name={name} schema={field} required={required} seen={path} />
        ))}
      </ul>
    );
  const inner = innerOf(target);
  return (
    <div>
      <span class="soft">{typeText(api, schema)}</span>
      {inner.map((part, index) => (
        <SchemaView key={`${part.$ref} ${index}`} api={api} schema={part} seen={path} />
      ))}
    </div>
  );
}

interface FieldProps extends Required<Props> {
  name: string;
  required: boolean;
}

function FieldView({ api, name, schema, required, seen }: FieldProps) {
  const target = resolveRef(api, schema);
  const isRecursive = schema.$ref !== undefined && seen.includes(schema.$ref);
  const isExpandable = !isRecursive && hasFields(api, target, seen);
  return (
    <li>
      <code>{name}</code> <span class="type">{typeText(api, schema)}</span>{' '}
      {required && <span class="required">required</span>}{' '}
      <span class="soft">
        <Prose text={target.description} /> {boundsText(target)}
      </span>
      {isExpandable && (
        <details>
          <summary>fields</summary>
          <SchemaView api={api} schema={schema} seen={seen} />
        </details>
      )}
    </li>
  );
}

function fieldsOf(api: OpenApi, schema: Schema): [string, Schema, boolean][] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]): [string, Schema, boolean] => [
    name,
    field,
    schema.required?.includes(name) ?? false,
  ]);
  return [...(schema.allOf ?? []).flatMap((part) => fieldsOf(api, resolveRef(api, part))), ...own];
}

function innerOf(schema: Schema): Schema[] {
  const { items, anyOf, oneOf, additionalProperties } = schema;
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [...(items ? [items] : []), ...(anyOf ?? []), ...(oneOf ?? []), ...values].filter(
    ({ type }) => type !== 'null',
  );
}

function hasFields(api: OpenApi, schema: Schema, seen: string[]): boolean {
  if (fieldsOf(api, schema).length > 0) return true;
  return innerOf(schema).some(
    (part) =>
      !(part.$ref && seen.includes(part.$ref)) &&
      hasFields(api, resolveRef(api, part), part.$ref ? [...seen, part.$ref] : seen),
  );
}

function typeText(api: OpenApi, schema: Schema): string {
  const name = schema.$ref?.split('/').at(-1);
  const target = resolveRef(api, schema);
  if (target.enum) return target.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (target.const !== undefined) return JSON.stringify(target.const);
  if (name) return name;
  const parts = target.anyOf ?? target.oneOf;
  if (parts) return [...new Set(parts.map((part) => typeText(api, part)))].join(' | ');
  if (target.items) return `list of ${typeText(api, target.items)}`;
  const type = Array.isArray(target.type)
    ? target.type.join(' | ')
    : (target.type ?? (target.allOf ? 'object' : 'any'));
  return `${type}${target.format ? ` (${target.format})` : ''}${target.nullable ? ' | null' : ''}`;
}

function boundsText({ minimum, maximum, minLength, maxLength, default: defaultValue }: Schema): string {
  const parts = [
    rangeText(minimum, maximum, ''),
    rangeText(minLength, maxLength, ' characters'),
    defaultValue === undefined ? '' : `default ${JSON.stringify(defaultValue)}`,
  ].filter(Boolean);
  return parts.length > 0 ? `(${parts.join(', ')})` : '';
}

function rangeText(min: number | undefined, max: number | undefined, unit: string): string {
  if (min !== undefined && max !== undefined) return `${min} to ${max}${unit}`;
  if (min !== undefined) return `at least ${min}${unit}`;
  return max === undefined ? '' : `at most ${max}${unit}`;
}
