/** Writes the operations and schemas of an OpenAPI 3.1 document as TypeScript. */

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

type Content = Record<string, { schema: Schema }>;

interface Operation {
  summary: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const header = `// Generated from the OpenAPI document: npx vitest run test/client/schema.test.ts -u
`;

export function typesOf({ paths, components }: OpenApiDocument): string {
  const schemas = Object.entries(components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => declaration(name, schema));
  const operations = Object.entries(paths).flatMap(([path, methods]) => {
    const lines = Object.entries(methods)
      .filter(([, operation]) => isJson(operation))
      .map(([method, operation]) => operationType(method, operation));
    return lines.length === 0 ? [] : `  '${path}': {\n${lines.join('\n')}\n  };`;
  });
  return [header, ...schemas, `export interface Paths {\n${operations.join('\n')}\n}\n`].join('\n');
}

/** Pages, streams, metrics and deliveries from providers are not for API clients. */
const isJson = ({ requestBody, responses }: Operation) =>
  [requestBody, ...successes(responses)].every((part) =>
    Object.keys(part?.content ?? {}).every((type) => type === 'application/json'),
  ) && !Object.hasOwn(responses, '303');

const successes = (responses: Operation['responses']) =>
  Object.entries(responses).flatMap(([status, response]) => (status.startsWith('2') ? response : []));

function declaration(name: string, schema: Schema): string {
  const isObject = schema.type === 'object' && schema.properties;
  const type = typeOf(schema, '');
  return `${comment(schema.description, '')}${isObject ? `export interface ${name} ${type}` : `export type ${name} = ${type};`}\n`;
}

function operationType(method: string, operation: Operation): string {
  const fields = [
    ...['path', 'query'].flatMap((place) => parametersOf(operation, place)),
    ...bodyOf(operation),
    `      response: ${responseOf(operation)};`,
  ];
  return `${comment(operation.summary, '    ')}    ${method}: {\n${fields.join('\n')}\n    };`;
}

function parametersOf({ parameters = [] }: Operation, place: string): string[] {
  const found = parameters.filter((parameter) => parameter.in === place);
  if (found.length === 0) return [];
  const isRequired = found.some(({ required }) => required);
  const fields = found.map(({ name, required = false, description, schema }) =>
    field(name, description === undefined ? schema : { ...schema, description }, required, '        '),
  );
  return [
    `      ${place}${isRequired ? '' : '?'}: {\n${fields.join('\n')}\n      }${orUndefined(isRequired)};`,
  ];
}

function bodyOf({ requestBody }: Operation): string[] {
  const schema = requestBody?.content['application/json']?.schema;
  if (!schema) return [];
  const isRequired = requestBody?.required ?? false;
  return [`      body${isRequired ? '' : '?'}: ${typeOf(schema, '      ')}${orUndefined(isRequired)};`];
}

function responseOf({ responses }: Operation): string {
  const types = successes(responses).map(({ content }) =>
    content?.['application/json'] ? typeOf(content['application/json'].schema, '      ') : 'undefined',
  );
  return [...new Set(types)].join(' | ');
}

const orUndefined = (isRequired: boolean) => (isRequired ? '' : ' | undefined');

function field(name: string, schema: Schema, isRequired: boolean, indent: string): string {
  const key = /^\w+$/.test(name) ? name : `'${name}'`;
  const type = typeOf(schema, indent);
  const optional = isRequired ? `: ${type}` : `?: ${type}${type === 'unknown' ? '' : ' | undefined'}`;
  return `${comment(schema.description, indent)}${indent}${key}${optional};`;
}

const comment = (text: string | undefined, indent: string) =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`;

function typeOf(schema: Schema, indent: string): string {
  const { $ref, allOf, type } = schema;
  const choices = schema.anyOf ?? schema.oneOf;
  if ($ref) return $ref.replace('#/components/schemas/', '');
  if (allOf) return allOf.map((part) => typeOf(part, indent)).join(' & ');
  if (choices) return union(choices.map((choice) => typeOf(choice, indent)));
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum) return union(schema.enum.map(literal));
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one }, indent)));
  switch (type) {
    case 'array':
      return arrayOf(schema.items ? typeOf(schema.items, indent) : 'unknown');
    case 'object':
      return objectType(schema, indent);
    case 'integer':
      return 'number';
    default:
      return type ?? 'unknown';
  }
}

const literal = (value: unknown) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value);

const union = (types: string[]) => [...new Set(types)].join(' | ');

const arrayOf = (item: string) => (/[|&]/.test(item) ? `(${item})[]` : `${item}[]`);

function objectType({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown';
  if (!properties) return `Record<string, ${values}>`;
  const fields = Object.entries(properties).map(([name, schema]) =>
    field(name, schema, required.includes(name), `${indent}  `),
  );
  return `{\n${fields.join('\n')}\n${indent}}`;
}
