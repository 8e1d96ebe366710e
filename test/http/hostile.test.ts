import { expect, test } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { isFullSize, sampled } from '../support/size.ts';
import type { OpenApi, Schema } from './schema.ts';
import { startService } from './service.ts';

const db = useDatabase();
const unknownId = '00000000-0000-4000-8000-00000000dead';

/** Values sent by mistake or by attackers. */
const hostile: unknown[] = [
  '',
  ' ',
  'x'.repeat(600),
  "'; DROP TABLE connections; --",
  '%',
  '_',
  '\\',
  '\u202e\u0000'.replace('\0', ''),
  '💥',
  '../../etc/passwd',
  'NaN',
  '-1',
  '99999999999999999999',
  '1e309',
  'infinity',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '+275760-09-13T00:00:00Z',
  'null',
  '__proto__',
  'constructor',
  unknownId,
  unknownId.toUpperCase(),
  'beginning',
  'latest',
  Buffer.from('["connections"]').toString('base64url'),
  Buffer.from('["connections","x"]').toString('base64url'),
  Buffer.from('["feed","999999999999999"]').toString('base64url'),
  Buffer.from('{"length":1e9}').toString('base64url'),
];
const hostileJson: unknown[] = [
  ...hostile,
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  [],
  {},
  [[]],
  { __proto__: null },
  { constructor: { prototype: 1 } },
  { sync: { next_run_at: 'infinity' } },
];

const validValues: Record<string, unknown> = {
  name: 'a name',
  key: 'syn_x',
  tenant_id: tenant,
  provider: 'github',
  interval_seconds: 300,
  action: 'pause',
  filter: { search: 'nothing that is there' },
  after: 'latest',
  secret: { type: 'api_key', key: 'a key' },
};

test('robustness: hostile values in every field never cause a server error', {
  timeout: 600_000,
}, async () => {
  const keys = [`k1:${Buffer.alloc(32, 7).toString('base64')}`];
  const { call } = await startService(db, { engine: { credentials: { keys } } });
  const document = JSON.parse((await call('/openapi.json')).text) as OpenApi;
  const connection = await db.connect();
  // Cache the key before the guesses at /v1/session lock this address out.
  expect((await call('/v1/me')).status).toBe(200);
  const failures: string[] = [];
  const statusCounts = new Map<number, number>();
  const send = async (method: string, path: string, json?: unknown) => {
    const { status, text } = await call(path, { method, ...(json !== undefined && { json }) });
    statusCounts.set(status, (statusCounts.get(status) ?? 0) + 1);
    if (status >= 500 && status !== 503) failures.push(`${method} ${path} ${JSON.stringify(json)}: ${text}`);
  };

  for (const [template, methods] of Object.entries(document.paths))
    for (const [lower, operation] of Object.entries(methods)) {
      if (template === '/v1/live' || template === '/readyz') continue;
      const method = lower.toUpperCase();
      const pathFor = (value: string) => template.replaceAll(/\{\w+\}/g, encodeURIComponent(value));
      const path = pathFor(
        template.includes('/connections/') && method !== 'DELETE' ? connection : unknownId,
      );
      const shape = bodyOf(document, operation.requestBody?.content['application/json']?.schema);
      const validBody =
        shape &&
        Object.fromEntries(
          shape.filter((name) => name in validValues).map((name) => [name, validValues[name]]),
        );
      if (template.includes('{'))
        for (const value of sampled(hostile, 9)) await send(method, pathFor(String(value)), validBody);
      for (const { name } of operation.parameters?.filter((parameter) => parameter.in === 'query') ?? [])
        for (const value of sampled(hostile, 9))
          await send(method, `${path}?${name}=${encodeURIComponent(String(value))}`);
      for (const name of shape ?? [])
        for (const value of sampled(hostileJson, 9))
          await send(method, path, { ...validBody, [name]: value });
      if (shape) for (const value of sampled(hostileJson, 9)) await send(method, path, value);
    }
  expect(failures).toEqual([]);
  const expectedStatuses = isFullSize ? [200, 201, 204, 400, 404] : [200, 400, 404];
  for (const status of expectedStatuses) expect([...statusCounts.keys()]).toContain(status);
  expect(statusCounts.get(503)).toBeUndefined();
});

function bodyOf(document: OpenApi, schema: Schema | undefined): string[] | undefined {
  if (!schema) return undefined;
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return Object.keys((name === undefined ? schema : document.components.schemas[name])?.properties ?? {});
}
