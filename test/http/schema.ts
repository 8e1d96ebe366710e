/** As much of JSON Schema as the OpenAPI document uses. */
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

/** Everything in which a value differs from its schema; also fields that the schema does not know. */
export function differences(document: OpenApi, schema: Schema, value: unknown, at = '$'): string[] {
  const again = (inner: Schema, of: unknown, where: string) => differences(document, inner, of, where);
  if (schema.$ref) return again(resolve(document, schema.$ref), value, at);
  if (schema.allOf) return again(merged(document, schema), value, at);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices)
    return choices.some((one) => again(one, value, at).length === 0) ? [] : [`${at} fits none of its shapes`];
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isA(type, value)))
    return [`${at} is ${JSON.stringify(value)}, not ${types.join(' or ')}`];
  if (schema.enum && value !== null && !schema.enum.includes(value)) return [`${at} is ${value}`];
  if (Array.isArray(value))
    return value.flatMap((item, i) => (schema.items ? again(schema.items, item, `${at}[${i}]`) : []));
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  const { properties, required = [] } = schema;
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) =>
      properties[name] ? again(properties[name], inner, `${at}.${name}`) : [`${at}.${name} is not described`],
    ),
  ];
}

export function resolve(document: OpenApi, ref: string): Schema {
  const name = ref.replace('#/components/schemas/', '');
  const schema = document.components.schemas[name];
  if (!schema) throw new Error(`${ref} leads nowhere`);
  return schema;
}

function merged(document: OpenApi, { allOf = [], ...rest }: Schema): Schema {
  const parts = [...allOf, rest as Schema]
    .map((one) => (one.$ref ? resolve(document, one.$ref) : one))
    .map((one) => (one.allOf ? merged(document, one) : one));
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, Schema>,
    required: parts.flatMap(({ required }) => required ?? []),
  };
}

function isA(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
