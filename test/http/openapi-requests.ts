import { type Field, nounOf, type Operation, typesOf } from './openapi-operations.ts';
import type { WireRequest } from './wire.ts';

/** Field values of one request; fields without a value are omitted. */
export type Values = ReadonlyMap<Field, unknown>;

let newNames = 0;
/** Names of active keys are unique, so each created key gets a new name. */
const isNewName = ({ id }: Operation, { name, schema }: Field, value: unknown) =>
  id === 'createKey' && name === 'name' && value === schema.example;

export function toRequest(operation: Operation, values: Values): WireRequest {
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  let path = operation.path;
  for (const [field, value] of values) {
    if (field.in === 'path') path = path.replace(`{${field.name}}`, () => encodeURIComponent(String(value)));
    else if (field.in === 'query') query.append(field.name, String(value));
    else put(body, field.path, isNewName(operation, field, value) ? `${value} ${++newNames}` : value);
  }
  const target = query.size > 0 ? `${path}?${query}` : path;
  if (!operation.hasBody) return { method: operation.method, target };
  const headers = { 'content-type': 'application/json' };
  return { method: operation.method, target, headers, body: JSON.stringify(body) };
}

function put(into: Record<string, unknown>, [first, ...rest]: readonly string[], value: unknown): void {
  if (first === undefined) return;
  if (rest.length === 0) {
    into[first] ??= structuredClone(value);
    return;
  }
  const inner = (into[first] ?? {}) as Record<string, unknown>;
  into[first] = inner;
  put(inner, rest, value);
}

/** Valid values of a field without a noun. */
export function plainValues(operation: Operation, field: Field): readonly unknown[] {
  const { schema, name } = field;
  if (schema.enum) return schema.enum;
  const [type] = typesOf(schema);
  switch (type) {
    case 'boolean':
      return [true, false];
    case 'integer':
      // The largest page; no waiting.
      return [name === 'wait' ? schema.minimum : (schema.maximum ?? schema.example)];
    case 'object':
      return [{}];
    case 'string':
      return schema.format === 'date-time'
        ? [name === 'since' ? '2020-01-01T00:00:00Z' : '2100-01-01T00:00:00Z']
        : [schema.example ?? 'some words'];
    case undefined:
      // Any JSON, or a union with an example.
      return [schema.example ?? { any: 'thing' }];
    default:
      throw new Error(`${operation.id}: no values for ${name} of type ${type}`);
  }
}

/** The required fields and at most one optional field. */
export type Shape = ReadonlyMap<Field, unknown>;

/** Required fields with at most one optional field, in every combination; without naming fields. */
export function shapesOf(operation: Operation): Shape[] {
  const values = operation.fields.filter((field) => nounOf(operation, field) === undefined);
  const choices = (field: Field) => plainValues(operation, field).map((value) => ({ field, value }));
  const always = values.filter((field) => isNeeded(operation, field) || field.name === 'limit');
  const bases = always.reduce<Shape[]>(
    (shapes, field) =>
      choices(field).flatMap(({ value }) => shapes.map((shape) => new Map([...shape, [field, value]]))),
    [new Map()],
  );
  const extras = values.filter((field) => !always.includes(field)).flatMap(choices);
  return bases.flatMap((base) => [
    base,
    ...extras.map(({ field, value }) => new Map([...base, [field, value] as const])),
  ]);
}

/** A nested property is required only if its parents are. */
export function isNeeded({ id, fields }: Operation, field: Field): boolean {
  // Needed with a tenant's key: only operators may send tenant_name instead.
  if (id === 'createConnection' && field.name === 'tenant_id') return true;
  const isPartOfNeeded = fields
    .filter((outer) => outer !== field && outer.in === field.in)
    .filter((outer) => outer.path.every((name, i) => field.path[i] === name))
    .every((outer) => outer.required);
  return field.required && isPartOfNeeded;
}
