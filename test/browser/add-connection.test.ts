import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadDashboard } from '../../src/http/assets.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { startService } from '../http/service.ts';
import { useDatabase } from '../support/database.ts';
import { expectAccessible, expectNoOverflow, launch, screenshot } from './browser.ts';

const database = useDatabase();
let browser: Awaited<ReturnType<typeof launch>>;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

async function openDialog() {
  const localLogin = createLocalLogin(systemPorts.monotonicMs);
  const { url, syncline } = await startService(database, { dashboard: loadDashboard, localLogin });
  const page = await (await browser.newContext({ bypassCSP: true })).newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${url}/login?token=${localLogin.issue()}`);
  await page.goto(`${url}/connections?add=true`);
  const dialog = page.getByRole('dialog', { name: 'Add connection' });
  const add = async () => {
    await dialog.getByRole('button', { name: 'Add connection' }).click();
    await page.getByRole('heading', { level: 1, name: /northwind/ }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) as string;
    return syncline.connections.get(id);
  };
  return { syncline, page, dialog, add };
}

it('add connection: sends a cron expression with a time zone, after the API names the wrong value', async () => {
  const { page, dialog, add } = await openDialog();
  await dialog.getByLabel('Account').fill('northwind');
  await dialog.getByLabel('Schedule type').selectOption('Cron expression');
  for (const label of ['Interval (seconds)', 'Times of day', 'Days of the week'])
    await dialog.getByLabel(label).waitFor({ state: 'hidden' });
  await dialog.getByLabel('Cron expression').fill('0 6 * * 1-5');
  await dialog.getByLabel('Time zone').fill('Berlin');
  await dialog.getByRole('button', { name: 'Add connection' }).click();
  const error = 'must be an IANA time zone such as Europe/Berlin';
  await dialog.locator('.field', { hasText: 'Time zone' }).getByText(error).waitFor();
  await dialog.getByText(`schedule.time_zone ${error}, got "Berlin".`).waitFor();
  await dialog.getByText('Did you mean Europe/Berlin?').waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [name, width] of [['wide', 1280] as const, ['narrow', 375] as const]) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page);
      await expectAccessible(page);
      await screenshot(page, `add-connection-${colorScheme}-${name}`);
    }
  }
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  const { schedule } = await add();
  expect(schedule).toEqual({ cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin' });
  await page.context().close();
});

it('add connection: sends times of day on some days, and no text of another kind', async () => {
  const { page, dialog, add } = await openDialog();
  await dialog.getByLabel('Account').fill('northwind');
  await dialog.getByLabel('Interval (seconds)').fill('5');
  await dialog.getByLabel('Schedule type').selectOption('Times of day');
  await dialog.getByLabel('Times of day').fill('06:00, 18:00');
  await dialog.getByLabel('Days of the week').fill('Mon, someday');
  await dialog.getByRole('button', { name: 'Add connection' }).click();
  await dialog.locator('.field', { hasText: 'Days of the week' }).locator('.field-error').waitFor();
  await dialog.getByLabel('Days of the week').fill('Mon, Fri');
  const { schedule } = await add();
  expect(schedule).toEqual({
    timesOfDay: ['06:00', '18:00'],
    daysOfWeek: ['mon', 'fri'],
    timeZone: 'UTC',
  });
  await page.context().close();
});

it('add connection: sends an interval, or the default without one', async () => {
  for (const [text, intervalSeconds] of [
    ['300', 300],
    ['', undefined],
  ] as const) {
    const { page, dialog, add } = await openDialog();
    await dialog.getByLabel('Account').fill('northwind');
    await dialog.getByLabel('Interval (seconds)').fill(text);
    const { schedule, sync } = await add();
    expect({ schedule, intervalSeconds: sync.intervalSeconds }).toEqual({
      schedule: undefined,
      intervalSeconds,
    });
    await page.context().close();
  }
});
