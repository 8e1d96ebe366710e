import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadDashboard } from '../../src/http/assets.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { newKey } from '../credentials/handles.ts';
import { startService } from '../http/service.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { launch } from './browser.ts';

const database = useDatabase();
let browser: Awaited<ReturnType<typeof launch>>;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

async function setUp() {
  const localLogin = createLocalLogin(systemPorts.monotonicMs);
  const { url, syncline } = await startService(database, {
    dashboard: loadDashboard,
    localLogin,
    engine: { credentials: { keys: [newKey()] } },
  });
  const id = await database.connect();
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const logIn = async (path = `connections/${id}`) => {
    await page.goto(`${url}/login?token=${localLogin.issue()}`);
    await page.goto(`${url}/${path}`);
  };
  return { syncline, id, page, logIn };
}

/** Delays the responses of matching requests until `release`. */
async function hold(page: Page, method: string, path: RegExp) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held: string[] = [];
  await page.route(path, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    held.push(route.request().url());
    await released;
    // The page may have aborted the request.
    await route.continue().catch(() => {});
  });
  return { held, release };
}

const typed = {
  'Cron expression': '0 6 * * 1-5',
  'Time zone': 'Europe/Berlin',
  Reason: 'office hours',
};

async function fillSchedule(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Schedule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Schedule type').selectOption('Cron expression');
  for (const [label, text] of Object.entries(typed)) await dialog.getByLabel(label).fill(text);
}

it('forms: typed values survive live updates of the page, and are sent', async () => {
  const { syncline, id, page, logIn } = await setUp();
  await logIn();
  await fillSchedule(page);
  await syncline.connections.setInterval(id, 7200);
  await page.locator('dd', { hasText: '2 h' }).waitFor();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel('Schedule type').inputValue()).toBe('cron');
  for (const [label, text] of Object.entries(typed))
    expect(await dialog.getByLabel(label).inputValue()).toBe(text);
  await dialog.getByRole('button', { name: 'Change' }).click();
  await page.getByText('Schedule changed.').waitFor();
  expect((await syncline.connections.get(id)).schedule).toEqual({
    cron: '0 6 * * 1-5',
    timeZone: 'Europe/Berlin',
  });
  const { items } = await syncline.audit.list({ kind: 'connection.schedule_changed' });
  expect(items.map(({ reason }) => reason)).toEqual(['office hours']);
  await page.close();
});

it('forms: a change that an overloaded server rejects is sent again', async () => {
  const { syncline, id, page, logIn } = await setUp();
  await logIn();
  let attempts = 0;
  await page.route(/\/v1\/connections\//, (route) => {
    if (route.request().method() !== 'PATCH' || ++attempts > 2) return route.fallback();
    return route.fulfill({
      status: 503,
      headers: { 'retry-after': '0', 'content-type': 'application/problem+json' },
      body: JSON.stringify({ code: 'TOO_MANY', title: 'Too many requests', detail: 'Overloaded.' }),
    });
  });
  await fillSchedule(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
  await page.getByText('Schedule changed.').waitFor();
  expect(attempts).toBe(3);
  expect((await syncline.connections.get(id)).schedule).toMatchObject({ cron: '0 6 * * 1-5' });
  await page.close();
});

it('forms: a database error of a change is shown and not sent again', async () => {
  const { page, logIn } = await setUp();
  await logIn();
  let attempts = 0;
  await page.route(/\/v1\/connections\//, (route) => {
    if (route.request().method() !== 'PATCH') return route.fallback();
    attempts++;
    return route.fulfill({
      status: 503,
      headers: { 'retry-after': '0', 'content-type': 'application/problem+json' },
      body: JSON.stringify({ code: 'UNAVAILABLE', title: 'Temporarily unavailable', detail: 'No database.' }),
    });
  });
  await fillSchedule(page);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await dialog.getByText('No database.').waitFor();
  expect(attempts).toBe(1);
  expect(await dialog.getByLabel('Cron expression').inputValue()).toBe('0 6 * * 1-5');
  await page.close();
});

it('forms: the schedule dialog opens with the current kind of schedule', async () => {
  const { syncline, id, page, logIn } = await setUp();
  await syncline.connections.setSchedule(id, { timesOfDay: ['06:00'], timeZone: 'Europe/Berlin' });
  await logIn();
  await page.getByRole('button', { name: 'Schedule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Time zone').fill('Europe/Paris');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await page.getByText('Schedule changed.').waitFor();
  expect((await syncline.connections.get(id)).schedule).toEqual({
    timesOfDay: ['06:00'],
    timeZone: 'Europe/Paris',
  });
  await page.close();
});

it('forms: the response of a closed dialog does not close the next one', async () => {
  const { syncline, id, page, logIn } = await setUp();
  const { held, release } = await hold(page, 'POST', /\/pause$/);
  await logIn();
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await until('the request is sent', () => held.length === 1);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  await fillSchedule(page);
  release();
  await page.getByText('Paused.', { exact: true }).waitFor();
  const dialog = page.getByRole('dialog', { name: /^Schedule of/ });
  await dialog.getByRole('button', { name: 'Change' }).click();
  await page.getByText('Schedule changed.').waitFor();
  expect((await syncline.connections.get(id)).schedule).toMatchObject({ cron: '0 6 * * 1-5' });
  await page.close();
});

it('forms: a question that waits for a response does not replace an open dialog', async () => {
  const { syncline, page, logIn } = await setUp();
  await syncline.keys.create({ name: 'old key' });
  const { held, release } = await hold(page, 'GET', /\/v1\/keys\/[^/]+$/);
  await logIn('keys');
  await page.getByRole('button', { name: 'Revoke old key' }).click();
  await until('the request is sent', () => held.length === 1);
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create key' });
  await dialog.getByLabel('Name').fill('new key');
  const answered = page.waitForResponse(held[0] as string);
  release();
  await (await answered).finished();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog', { name: 'Key “new key”' }).waitFor();
  await page.close();
});

it('forms: a typed configuration survives the response with the credentials', async () => {
  const { syncline, page, logIn } = await setUp();
  const secret = { type: 'api_key', key: 'a secret' } as const;
  await syncline.credentials.create({ tenantId: tenant, provider: 'github', name: 'bot token', secret });
  const { held, release } = await hold(page, 'GET', /\/v1\/credentials\?/);
  await logIn('connections?add=true');
  const dialog = page.getByRole('dialog', { name: 'Add connection' });
  await dialog.getByLabel('Configuration').fill('{"repositories":["northwind/website"]}');
  await until('the request is sent', () => held.length > 0);
  release();
  await dialog.getByRole('option', { name: 'bot token' }).waitFor({ state: 'attached' });
  expect(await dialog.getByLabel('Configuration').inputValue()).toBe(
    '{"repositories":["northwind/website"]}',
  );
  await page.close();
});

it('pages: a response slower than the refresh interval is shown', async () => {
  const { id, page, logIn } = await setUp();
  const { held, release } = await hold(page, 'GET', new RegExp(`/v1/connections/${id}$`));
  await page.clock.install();
  await logIn();
  await until('the request is sent', () => held.length === 1);
  await page.clock.runFor(60_000);
  expect(held).toHaveLength(1);
  release();
  await page.getByRole('button', { name: 'Schedule' }).waitFor();
  await page.close();
});
