import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadDashboard } from '../../src/http/assets.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { startService } from '../http/service.ts';
import { useDatabase } from '../support/database.ts';
import { collectConsoleErrors, expectAccessible, launch } from './browser.ts';

const database = useDatabase();
let browser: Awaited<ReturnType<typeof launch>>;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

it('first steps: an empty installation offers to add a connection, with its first tenant', async () => {
  await database.sql('TRUNCATE tenants CASCADE');
  const localLogin = createLocalLogin(systemPorts.monotonicMs);
  const { url, syncline } = await startService(database, { dashboard: loadDashboard, localLogin });
  await syncline.providers.register({ slug: 'tracker', displayName: 'Tracker' });
  const page = await (await browser.newContext({ bypassCSP: true })).newPage();
  page.setDefaultTimeout(120_000);
  const consoleErrors = collectConsoleErrors(page);
  await page.goto(`${url}/login?token=${localLogin.issue()}`);
  const steps = page.getByRole('region', { name: 'Get started' });
  await steps.getByRole('link').waitFor();
  expect(await steps.getByRole('link').allTextContents()).toEqual(['Add a connection']);
  await steps.getByRole('link').click();
  const dialog = page.getByRole('dialog', { name: 'Add connection' });
  await dialog.getByLabel('Tenant name').fill('Northwind');
  await dialog.getByLabel('Provider').selectOption('tracker');
  await dialog.getByLabel('Account').fill('apollo');
  await dialog.getByLabel('Configuration').fill('{"project":"apollo"}');
  await dialog.getByLabel('Interval (seconds)').fill('5');
  await dialog.getByRole('button', { name: 'Add connection' }).click();
  await dialog.getByText('must be 60 or more').first().waitFor();
  expect((await syncline.tenants.list()).items).toEqual([]);
  // The browser logs every 400 response.
  expect(consoleErrors.splice(0)).toHaveLength(1);
  await dialog.getByLabel('Interval (seconds)').fill('60');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Add connection' }).click();
  await page.getByRole('heading', { level: 1, name: /apollo/ }).waitFor();
  const [connection] = (await syncline.connections.list()).items;
  expect(connection).toMatchObject({
    provider: 'tracker',
    externalId: 'apollo',
    config: { project: 'apollo' },
  });
  expect((await syncline.tenants.list()).items.map(({ name }) => name)).toEqual(['Northwind']);
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('region', { name: 'Needs attention' }).waitFor();
  expect(await page.getByText('Get started').count()).toBe(0);
  expect(consoleErrors).toEqual([]);
  await page.context().close();
});
