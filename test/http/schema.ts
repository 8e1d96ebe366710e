/** The subset of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

export interface OpenApi {
  openapi: string;
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> };
}

/** Lists the differences between a value and its schema, including undocumented fields. */
export function differences(document: OpenApi, schema: Schema, value: unknown, at = '$'): string[] {
  const check = (inner: Schema, innerValue: unknown, path: string) =>
    differences(document, inner, innerValue, path);
  if (schema.$ref) return check(resolve(document, schema.$ref), value, at);
  if (schema.allOf) return check(merged(document, schema), value, at);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices)
    return choices.some((choice) => check(choice, value, at).length === 0)
      ? []
      : [`${at} matches no alternative`];
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => hasType(type, value)))
    return [`${at} is ${JSON.stringify(value)}, not ${types.join(' or ')}`];
  if (schema.enum && value !== null && !schema.enum.includes(value)) return [`${at} is ${value}`];
  if (Array.isArray(value))
    return value.flatMap((item, i) => (schema.items ? check(schema.items, item, `${at}[${i}]`) : []));
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  const { properties, required = [] } = schema;
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) =>
      properties[name]
        ? check(properties[name], inner, `${at}.${name}`)
        : [`${at}.${name} is not documented`],
    ),
  ];
}

export function resolve(document: OpenApi, ref: string): Schema {
  const name = ref.replace('#/components/schemas/', '');
  const schema = document.components.schemas[name];
  if (!schema) throw new Error(`${ref} does not resolve`);
  return schema;
}

function merged(document: OpenApi, { allOf = [], ...rest }: Schema): Schema {
  const parts = [...allOf, rest as Schema]
    .map((part) => (part.$ref ? resolve(document, part.$ref) : part))
    .map((part) => (part.allOf ? merged(document, part) : part));
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, Schema>,
    required: parts.flatMap(({ required }) => required ?? []),
  };
}

function hasType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
