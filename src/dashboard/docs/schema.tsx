import { type OpenApi, resolved, type Schema } from './openapi.ts';
import { Prose } from './prose.tsx';

interface Props {
  api: OpenApi;
  schema: Schema;
  /** The references that led here: one that comes again is named and not opened, or it would never end. */
  seen?: string[];
}

/** What a value must look like: its fields, and theirs. */
export function SchemaView({ api, schema, seen = [] }: Props) {
  const next = schema.$ref ? [...seen, schema.$ref] : seen;
  const whole = resolved(api, schema);
  const fields = fieldsOf(api, whole);
  if (fields.length > 0)
    return (
      <ul class="properties">
        {fields.map(([name, field, required]) => (
          <FieldView key={name} api={api} name={name} schema={field} required={required} seen={next} />
        ))}
      </ul>
    );
  const inner = innerOf(whole);
  return (
    <div>
      <span class="soft">{typeText(api, schema)}</span>
      {inner.map((part, index) => (
        <SchemaView key={`${part.$ref} ${index}`} api={api} schema={part} seen={next} />
      ))}
    </div>
  );
}

interface FieldProps extends Required<Props> {
  name: string;
  required: boolean;
}

function FieldView({ api, name, schema, required, seen }: FieldProps) {
  const whole = resolved(api, schema);
  const again = schema.$ref !== undefined && seen.includes(schema.$ref);
  const opens = !again && isDeep(api, whole, seen);
  return (
    <li>
      <code>{name}</code> <span class="type">{typeText(api, schema)}</span>{' '}
      {required && <span class="required">required</span>}{' '}
      <span class="soft">
        <Prose text={whole.description} /> {boundsText(whole)}
      </span>
      {opens && (
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
  return [...(schema.allOf ?? []).flatMap((part) => fieldsOf(api, resolved(api, part))), ...own];
}

function innerOf(schema: Schema): Schema[] {
  const { items, anyOf, oneOf, additionalProperties } = schema;
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [...(items ? [items] : []), ...(anyOf ?? []), ...(oneOf ?? []), ...values].filter(
    ({ type }) => type !== 'null',
  );
}

function isDeep(api: OpenApi, schema: Schema, seen: string[]): boolean {
  if (fieldsOf(api, schema).length > 0) return true;
  return innerOf(schema).some(
    (part) =>
      !(part.$ref && seen.includes(part.$ref)) &&
      isDeep(api, resolved(api, part), part.$ref ? [...seen, part.$ref] : seen),
  );
}

function typeText(api: OpenApi, schema: Schema): string {
  const name = schema.$ref?.split('/').at(-1);
  const whole = resolved(api, schema);
  if (whole.enum) return whole.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (name) return name;
  const parts = whole.anyOf ?? whole.oneOf;
  if (parts) return [...new Set(parts.map((part) => typeText(api, part)))].join(' | ');
  if (whole.items) return `list of ${typeText(api, whole.items)}`;
  const type = Array.isArray(whole.type)
    ? whole.type.join(' | ')
    : (whole.type ?? (whole.allOf ? 'object' : 'any'));
  return `${type}${whole.format ? ` (${whole.format})` : ''}${whole.nullable ? ' | null' : ''}`;
}

function boundsText({ minimum, maximum, minLength, maxLength, default: standard }: Schema): string {
  const parts = [
    rangeText(minimum, maximum, ''),
    rangeText(minLength, maxLength, ' characters'),
    standard === undefined ? '' : `default ${JSON.stringify(standard)}`,
  ].filter(Boolean);
  return parts.length > 0 ? `(${parts.join(', ')})` : '';
}

function rangeText(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `${least}${unit} or more`;
  return most === undefined ? '' : `${most}${unit} at most`;
}
