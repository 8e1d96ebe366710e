import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { DemoProviders } from '../../src/http/index.ts';
import { useDatabase } from '../support/database.ts';
import { startService } from './service.ts';

const db = useDatabase();
const dashboard = mkdtempSync(join(tmpdir(), 'syncline-demo-'));
writeFileSync(join(dashboard, 'index.html'), '<!doctype html><html><head><base href="/"></head></html>');
afterAll(() => rmSync(dashboard, { recursive: true }));

function demoOf(broken: Set<string>): DemoProviders {
  return {
    list: () => [{ slug: 'github', name: 'GitHub', isBroken: broken.has('github') }],
    setBroken(slug, isBroken) {
      if (isBroken) broken.add(slug);
      else broken.delete(slug);
      return slug === 'github';
    },
  };
}

const path = '/v1/demo/providers/github';
const change = (broken: unknown) => ({ method: 'PUT', json: { broken } });

test('demo: an operator breaks and heals a provider', async () => {
  const broken = new Set<string>();
  const { call } = await startService(db, { dashboard, demo: demoOf(broken) });
  const listed = (isBroken: boolean) => ({
    status: 200,
    body: { items: [{ slug: 'github', name: 'GitHub', broken: isBroken }] },
  });
  expect(await call('/v1/demo/providers')).toMatchObject(listed(false));
  expect(await call(path, change(true))).toMatchObject(listed(true));
  expect(broken.has('github')).toBe(true);
  expect(await call(path, change(false))).toMatchObject(listed(false));
  for (const json of [{ broken: 'yes' }, {}, [], { broken: true, more: 1 }])
    expect((await call(path, { method: 'PUT', json })).body).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect((await call('/v1/demo/providers/jira', change(true))).body).toMatchObject({
    code: 'INVALID_ARGUMENT',
    hint: 'Use one of: github.',
  });
  expect((await call('/', { key: undefined })).text).toContain('<meta name="syncline-demo">');
});

test('demo: tenants, visitors and other servers have no access', async () => {
  const broken = new Set<string>();
  const { call, syncline } = await startService(db, { demo: demoOf(broken) });
  const tenant = await syncline.tenants.create({ name: 'Northwind' });
  const { key } = await syncline.keys.create({ name: 'tenant', tenantId: tenant.id });
  expect((await call('/v1/demo/providers', { key })).status).toBe(403);
  expect((await call(path, { ...change(true), key })).status).toBe(403);
  expect((await call(path, { ...change(true), key: undefined })).status).toBe(401);
  expect(broken.size).toBe(0);
  const other = await startService(db, { dashboard });
  expect((await other.call('/v1/demo/providers')).status).toBe(404);
  expect((await other.call(path, change(true))).status).toBe(404);
  expect((await other.call('/', { key: undefined })).text).not.toContain('syncline-demo');
});
