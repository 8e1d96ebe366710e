export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  default?: unknown;
  example?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
}

export interface Field {
  in: 'path' | 'query' | 'body';
  /** One name, or several for a nested property. */
  path: readonly string[];
  /** Last element of `path`. */
  name: string;
  required: boolean;
  schema: Schema;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  needsKey: boolean;
  isOperatorOnly: boolean;
  isStream: boolean;
  hasBody: boolean;
  fields: readonly Field[];
}

interface OpenApiOperation {
  operationId: string;
  description?: string;
  security?: unknown[];
  parameters?: { in: 'path' | 'query'; name: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

export interface Document {
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas: Record<string, Schema> };
}

/** Flattens an OpenAPI document: every parameter and body property is a field. */
export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operation(document, path, method, described)),
  );
}

function operation(document: Document, path: string, method: string, described: OpenApiOperation): Operation {
  const { operationId, description = '', security = [], parameters = [], requestBody, responses } = described;
  const parameterFields = parameters.map(({ in: place, name, required = false, schema }) => ({
    in: place,
    path: [name],
    name,
    required,
    schema,
  }));
  const body = requestBody?.content['application/json']?.schema;
  return {
    id: operationId,
    method: method.toUpperCase(),
    path,
    needsKey: security.length > 0,
    isOperatorOnly: description.startsWith('Operators only.'),
    isStream: responses['200']?.content?.['text/event-stream'] !== undefined,
    hasBody: body !== undefined,
    fields: [...parameterFields, ...(body ? bodyFields(document, body) : [])],
  };
}

function bodyFields(document: Document, body: Schema, above: readonly string[] = []): Field[] {
  const name = body.$ref?.replace('#/components/schemas/', '');
  const schema = name === undefined ? body : (document.components.schemas[name] ?? {});
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const path = [...above, key];
    const field: Field = {
      in: 'body',
      path,
      name: key,
      required: schema.required?.includes(key) ?? false,
      schema: inner,
    };
    return inner.properties ? [field, ...bodyFields(document, inner, path)] : [field];
  });
}

export const typesOf = ({ type }: Schema): readonly string[] => (type === undefined ? [] : [type].flat());

/** The noun a field refers to, such as `connections` or `cursors`; undefined for plain values. */
export function nounOf({ path, id }: Operation, field: Field): string | undefined {
  if (field.in === 'path')
    return nounsInPath[field.name] ?? path.split(`/{${field.name}}`)[0]?.split('/').at(-1);
  if (field.schema.format === 'uuid') {
    const thing = /^(.+)_id$/.exec(field.name)?.[1];
    if (thing === undefined) throw new Error(`${id}: unknown type of id ${field.name}`);
    return `${thing}s`;
  }
  return typesOf(field.schema).includes('string') ? nounsOfText[field.name] : undefined;
}

/** Path parameters that do not follow their collection's name. */
const nounsInPath: Record<string, string> = { connection: 'connections', provider: 'providers' };

const nounsOfText: Record<string, string> = {
  after: 'places',
  consumer: 'consumers',
  cursor: 'cursors',
  key: 'secrets',
  kind: 'kinds',
  provider: 'providers',
  search: 'searches',
};
