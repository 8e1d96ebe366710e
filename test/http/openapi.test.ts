import { expect, test } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { silent, useDatabase } from '../support/database.ts';
import { type OpenApi, resolve } from './schema.ts';
import { startService } from './service.ts';

const db = useDatabase();

async function load(): Promise<OpenApi> {
  const { call } = await startService(db, { metrics: () => '' });
  const { status, text } = await call('/openapi.json', { key: undefined });
  expect(status).toBe(200);
  return JSON.parse(text) as OpenApi;
}

const operationsOf = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, operation })),
  );

test('openapi: every route is documented', async () => {
  const described = new Set(operationsOf(await load()).map(({ name }) => name));
  const app = createApp({ syncline: db.engine(), log: silent, version: '1', metrics: () => '' });
  const routed = app.routes
    .filter(({ method, path }) => method !== 'ALL' && /^\/(v1\/|healthz|readyz|metrics)/.test(path))
    .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(new Set(routed)).toEqual(described);
  expect(described.size).toBeGreaterThan(40);
});

test('openapi: every operation has id, summary, tags, security, parameters and error responses', async () => {
  const document = await load();
  expect(document.openapi).toMatch(/^3\.1/);
  expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer', 'session']);
  const tags = document.tags.map(({ name }) => name);
  const ids = new Set<string>();
  for (const { name, path, operation } of operationsOf(document)) {
    const { operationId = '', summary, description, security, responses, parameters = [] } = operation;
    expect(ids.has(operationId), `${name} has a unique id`).toBe(false);
    ids.add(operationId);
    expect(summary, name).toBeTruthy();
    expect(description, name).toBeTruthy();
    expect(tags, name).toEqual(expect.arrayContaining(operation.tags ?? ['none']));
    expect(security, name).toBeDefined();
    for (const scheme of security ?? []) expect(['bearer', 'session']).toContain(Object.keys(scheme)[0]);
    expect(
      Object.keys(responses).some((status) => /^[23]/.test(status)),
      name,
    ).toBe(true);
    for (const answer of Object.values(responses)) expect(answer.description, name).toBeTruthy();
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameterName]) => parameterName);
    expect(
      parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name),
    ).toEqual(inPath);
    if (!path.startsWith('/v1/')) continue;
    for (const status of ['400', '401', '403', '429', '500', '503'])
      expect(Object.keys(responses[status]?.content ?? {}), `${name} ${status}`).toEqual([
        'application/problem+json',
      ]);
    if (operation.requestBody) {
      expect(responses['413'], name).toBeDefined();
      expect(responses['415'], name).toBeDefined();
    }
  }
});

test('openapi: every reference resolves and every schema is used', async () => {
  const document = await load();
  const refs = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? ''),
  );
  for (const ref of refs) expect(resolve(document, ref)).toBeDefined();
  const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect(new Set(names)).toEqual(refs);
});
