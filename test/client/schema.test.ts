import { expect, it } from 'vitest';
import { startService } from '../http/service.ts';
import { useDatabase } from '../support/database.ts';
import { type OpenApiDocument, type Schema, typesOf } from './types-of.ts';

const db = useDatabase();

async function openApi(): Promise<OpenApiDocument> {
  const { call } = await startService(db, { metrics: () => '' });
  return JSON.parse((await call('/openapi.json')).text) as OpenApiDocument;
}

it('client: its types are those of the OpenAPI document', async () => {
  await expect(typesOf(await openApi())).toMatchFileSnapshot('../../src/client/schema.ts');
});

it('client: the generator knows every keyword of the document', async () => {
  const known = [
    ...['$ref', 'type', 'enum', 'properties', 'required', 'additionalProperties', 'items'],
    ...['allOf', 'anyOf', 'oneOf'],
    // Not part of types.
    ...['description', 'example', 'format', 'pattern', 'default'],
    ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'exclusiveMinimum'],
  ];
  const { paths, components } = await openApi();
  const found = new Set<string>();
  const visit = (schema: Schema): void => {
    for (const key of Object.keys(schema)) found.add(key);
    const { properties = {}, items, additionalProperties, allOf = [], anyOf = [], oneOf = [] } = schema;
    const values = typeof additionalProperties === 'object' ? [additionalProperties] : [];
    const parts = [...Object.values(properties), ...(items ? [items] : []), ...values];
    for (const inner of [...parts, ...allOf, ...anyOf, ...oneOf]) visit(inner);
  };
  for (const schema of Object.values(components.schemas)) visit(schema);
  for (const { parameters = [], requestBody, responses } of Object.values(paths).flatMap(Object.values)) {
    for (const { schema } of parameters) visit(schema);
    for (const { content = {} } of [requestBody ?? { content: {} }, ...Object.values(responses)] as {
      content?: Record<string, { schema: Schema }>;
    }[])
      for (const { schema } of Object.values(content)) visit(schema);
  }
  expect([...found].filter((keyword) => !known.includes(keyword))).toEqual([]);
});
