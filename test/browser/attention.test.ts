import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadDashboard } from '../../src/http/assets.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { startService } from '../http/service.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { collectConsoleErrors, expectAccessible, expectNoOverflow, launch, screenshot } from './browser.ts';

const database = useDatabase();
let browser: Awaited<ReturnType<typeof launch>>;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

it('DB-6: the attention list repairs run times too far in the future after a confirmation', async () => {
  const localLogin = createLocalLogin(systemPorts.monotonicMs);
  const { url, syncline } = await startService(database, { dashboard: loadDashboard, localLogin });
  const next_run_at = new Date(Date.now() + 400 * 24 * 3600 * 1000).toISOString();
  for (let i = 0; i < 3; i++) await database.connect({ metadata: { sync: { next_run_at } } });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const consoleErrors = collectConsoleErrors(page);
  await page.goto(`${url}/login?token=${localLogin.issue()}`);
  const item = page.locator('.attention li', { hasText: 'too far ahead' });
  await item.waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [name, width] of [['wide', 1280] as const, ['narrow', 375] as const]) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page);
      await expectAccessible(page);
      await screenshot(page, `attention-${colorScheme}-${name}`);
    }
  }
  await item.getByRole('button', { name: 'Repair' }).click();
  const dialog = page.getByRole('dialog', { name: 'Repair the schedule?' });
  await dialog.waitFor();
  await expectAccessible(page);
  await screenshot(page, 'attention-repair');
  expect((await syncline.stats.attention()).map(({ cause }) => cause)).toEqual(['too_far_ahead']);
  await dialog.getByLabel('Reason').fill('a wrong clock');
  await dialog.getByRole('button', { name: 'Repair' }).click();
  await page.getByText('Rescheduled 3 connections and 0 jobs.').waitFor();
  await until('the list is empty', async () => (await item.count()) === 0);
  const { items } = await syncline.audit.list({ kind: 'connection.schedule_repaired' });
  expect(items.map(({ reason }) => reason)).toEqual(Array(3).fill('a wrong clock'));
  expect(consoleErrors).toEqual([]);
  await context.close();
});

it('overview: the last tick turns red after three tick intervals, not after one', async () => {
  const localLogin = createLocalLogin(systemPorts.monotonicMs);
  const { url } = await startService(database, { dashboard: loadDashboard, localLogin });
  const tick = (secondsAgo: number) =>
    database.sql(
      `WITH gone AS (DELETE FROM schedulers)
       INSERT INTO schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled)
       SELECT gen_random_uuid(), 'host', 1, now() - interval '1 day', now() - $1 * interval '1 second', 5, 0`,
      [secondsAgo],
    );
  await tick(100);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${url}/login?token=${localLogin.issue()}`);
  const tile = page.locator('.tile', { hasText: 'Last tick' });
  await tile.waitFor();
  expect(await tile.getAttribute('class')).not.toContain('tone-bad');
  await tick(200);
  await until(
    'the tile is red',
    async () => (await tile.getAttribute('class'))?.includes('tone-bad') ?? false,
  );
  await context.close();
});
