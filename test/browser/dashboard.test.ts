import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Running, startProcess } from '../support/process.ts';
import { isFullSize } from '../support/size.ts';
import { until } from '../support/until.ts';
import { collectConsoleErrors, expectAccessible, expectNoOverflow, launch, screenshot } from './browser.ts';

const cli = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const desktop = { width: 1280, height: 900 };
const phone = { width: 375, height: 800 };

let folder: string;
let dataFolder: string | undefined;
let service: Running;
let loginUrl: string;
let base: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let consoleErrors: string[];

/** Starts the demo as `npm start` does and opens the printed login URL. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'syncline-browser-'));
  service = startProcess(process.execPath, [cli, 'dev'], {
    cwd: folder,
    outlivesTest: true,
    env: {
      SYNCLINE_SERVER_PORT: '0',
      SYNCLINE_METRICS_PORT: '0',
      // Requests must not be rejected on a busy machine.
      SYNCLINE_SERVER_MAX_LOOP_DELAY_MS: '60000',
    },
  });
  const output = await service.output(/login\?token=\S+\n/);
  dataFolder = /data in (\S+)/.exec(output)?.[1];
  loginUrl = /http:\S+login\?token=\S+/.exec(output)?.[0] as string;
  base = new URL('/', loginUrl).href;
  browser = await launch();
  context = await browser.newContext({ viewport: desktop, colorScheme: 'light', bypassCSP: true });
  page = await context.newPage();
  page.setDefaultTimeout(120_000);
  consoleErrors = collectConsoleErrors(page);
  await page.goto(loginUrl);
});

afterAll(async () => {
  await browser?.close();
  service?.process.kill('SIGTERM');
  await service?.finished;
  for (const path of [folder, dataFolder]) if (path) rmSync(path, { recursive: true, force: true });
});

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

/** Opens a page through the navigation. */
async function visit(name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
  await heading(name).waitFor();
}

async function openConnection(name: string): Promise<void> {
  await visit('Connections');
  await page.getByLabel('Search', { exact: true }).fill(name);
  // The filtered list replaces the table; a click during the replacement is lost.
  await page.getByRole('status').getByText('1 connection', { exact: true }).waitFor();
  await page.getByRole('link', { name }).click();
  await heading(new RegExp(name)).waitFor();
}

describe('dashboard', () => {
  it('dashboard: the printed login URL works once', async () => {
    await heading('Overview').waitFor();
    expect(page.url()).toBe(base);
    const other = await browser.newContext();
    const answer = await (await other.newPage()).goto(loginUrl);
    expect(answer?.status()).toBeGreaterThanOrEqual(400);
    await other.close();
  });

  it('first steps: the overview of the demo offers three things to try', async () => {
    const steps = page.getByRole('region', { name: 'Three things to try' });
    await steps.getByRole('link', { name: 'Rewind a cursor' }).waitFor();
    expect(await steps.getByRole('img', { name: 'Not done' }).count()).toBe(3);
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [name, viewport] of Object.entries({ phone, desktop })) {
        // At reduced size, dark on a phone and light on a desktop.
        if (!isFullSize && (colorScheme === 'dark') !== (name === 'phone')) continue;
        await page.setViewportSize(viewport);
        await expectNoOverflow(page);
        await expectAccessible(page);
        if (isFullSize) await screenshot(page, `first-steps-${colorScheme}-${name}`);
      }
    }
  });

  it('first steps: a broken provider makes its connections fail until it is healed', async () => {
    const failing = async () => {
      const url = new URL('v1/connections?provider=warehouse&health=failing', base).href;
      return ((await (await page.request.get(url)).json()) as { items: unknown[] }).items.length;
    };
    await page.getByRole('link', { name: 'Break a provider' }).click();
    await page.getByRole('button', { name: 'Break Warehouse' }).click();
    await page.getByText('Requests to Warehouse now fail.').waitFor();
    const data = { action: 'trigger', filter: { provider: 'warehouse' } };
    const headers = { 'x-syncline-request': '1' };
    await page.request.post(new URL('v1/connections/bulk', base).href, { data, headers });
    await until('connections of the warehouse fail', async () => (await failing()) > 0);
    await page.getByRole('button', { name: 'Heal Warehouse' }).click();
    await page.getByText('Requests to Warehouse succeed again.').waitFor();
    await until('all recover', async () => (await failing()) === 0, 180_000);
    await visit('Overview');
    expect(await page.getByRole('img', { name: 'Done', exact: true }).count()).toBe(1);
  }, 600_000);

  it('first steps: the dialog adds a connection, which syncs', async () => {
    await page.getByRole('link', { name: 'Add a connection' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add connection' });
    await dialog.getByLabel('Tenant').selectOption({ label: 'Northwind' });
    await dialog.getByLabel('Provider').selectOption('github');
    await dialog.getByLabel('Credential').selectOption({ label: 'northwind' });
    await dialog.getByLabel('Account').fill('northwind/api');
    await dialog.getByLabel('Interval (seconds)').fill('60');
    await dialog.getByLabel('Configuration').fill('no JSON');
    await dialog.getByRole('button', { name: 'Add connection' }).click();
    await dialog.getByText('must be a JSON object').first().waitFor();
    await expectAccessible(page);
    if (isFullSize) await screenshot(page, 'add-connection');
    await dialog.getByLabel('Configuration').fill('{"repositories":["northwind/api"]}');
    await dialog.getByRole('button', { name: 'Add connection' }).click();
    await heading(/northwind\/api/).waitFor();
    const connection = new URL(`v1/${new URL(page.url()).pathname.slice(1)}`, base).href;
    await until(
      'its first run ends',
      async () =>
        ((await (await page.request.get(connection)).json()) as { last_ended_at: unknown }).last_ended_at !==
        null,
      180_000,
    );
    await visit('Overview');
    expect(await page.getByRole('img', { name: 'Done', exact: true }).count()).toBe(2);
  }, 600_000);

  it('dashboard: shows new signals without a reload', async () => {
    await visit('Signals');
    await page.evaluate('window.loadedOnce = true');
    await page.mouse.move(5, 5);
    const first = () => page.locator('.signals > li').first().textContent();
    await page.locator('.signals > li').first().waitFor();
    const before = await first();
    await until('another signal arrives', async () => (await first()) !== before);
    expect(await page.evaluate('window.loadedOnce')).toBe(true);
    expect(service.process.exitCode).toBeNull();
  });

  it('dashboard: shows the payload of a selected signal', async () => {
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.locator('.signal-line').first().press('Enter');
    await page
      .locator('.signals > li.open')
      .getByText(/dedupe|payload|job/i)
      .first()
      .waitFor();
    await page.locator('.signal-line').first().press('Enter');
  });

  it('dashboard: filters connections and keeps the filter in the URL', async () => {
    await visit('Connections');
    await until('all are shown', async () => (await page.locator('tbody tr').count()) > 10);
    await page.getByLabel('Health').selectOption('paused');
    await until('one is paused', async () => (await page.locator('tbody tr').count()) === 1);
    expect(page.url()).toContain('health=paused');
    await page.reload();
    await until('still one', async () => (await page.locator('tbody tr').count()) === 1);
    await page.getByRole('button', { name: 'Clear' }).click();
    await until('all are back', async () => (await page.locator('tbody tr').count()) > 10);
  });

  it('dashboard: pauses a connection, shows the reason and resumes it', async () => {
    await openConnection('northwind/website');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByLabel('Reason').fill('the customer moves house');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/Paused by local .*: the customer moves house\./).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Resumed.', { exact: true }).waitFor();
  });

  it('dashboard: shows the validation error of an interval in its form', async () => {
    await page.getByRole('button', { name: 'Schedule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Interval (seconds)').fill('5');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.getByText('must be 60 or more').first().waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    // The browser logs every 400 response.
    const expected = consoleErrors.findIndex((text) => text.includes('status of 400'));
    expect(expected).toBeGreaterThanOrEqual(0);
    consoleErrors.splice(expected, 1);
  });

  it('dashboard: sets a cron schedule, shows it, and returns to the interval', async () => {
    await page.getByRole('button', { name: 'Schedule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Schedule type').selectOption('Cron expression');
    await dialog.getByLabel('Cron expression').fill('0 6 * * 1-5');
    await dialog.getByLabel('Time zone').fill('Europe/Berlin');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await page.getByText('0 6 * * 1-5 (Europe/Berlin)', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Schedule' }).click();
    await dialog.getByLabel('Schedule type').selectOption('Interval');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await page.getByText('0 6 * * 1-5 (Europe/Berlin)', { exact: true }).waitFor({ state: 'detached' });
  });

  it('dashboard: "Sync now" confirms that a run is queued', async () => {
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sync now' }).click();
    await page.getByText(/Queued\.|queued job is due now|queued after it/).waitFor();
    await page.getByRole('img', { name: /^Timeline of \d+ jobs?, \d+ failed\./ }).waitFor();
  });

  it('dashboard: rewinds to an earlier cursor', async () => {
    const panel = page
      .getByRole('region', { name: 'Cursor' })
      .or(page.locator('section', { hasText: 'Restart from the beginning' }));
    // Poll the API: a page that reloads repeatedly may never finish rendering.
    const cursors = new URL(`v1/${new URL(page.url()).pathname.slice(1)}/cursors`, base).href;
    // Demo providers fail at random; retries take up to two minutes.
    await until(
      'there is a cursor to go back to',
      async () => {
        const answer = (await (await page.request.get(cursors)).json()) as { items: { current: boolean }[] };
        return answer.items.some(({ current }) => !current);
      },
      180_000,
    );
    await page.reload();
    await panel.first().waitFor();
    await page.getByRole('button', { name: 'Rewind', exact: true }).last().click();
    await page.getByRole('dialog').getByLabel('Reason').fill('a gap in the data');
    await page.getByRole('dialog').getByRole('button', { name: 'Rewind' }).click();
    await page.getByText('Rewound.').waitFor();
    await visit('Audit');
    await page.getByText('a gap in the data').first().waitFor();
  }, 600_000);

  it('first steps: a dismissed list stays hidden after a reload', async () => {
    await visit('Overview');
    expect(await page.getByRole('img', { name: 'Done', exact: true }).count()).toBe(3);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.reload();
    await page.getByRole('region', { name: 'Needs attention' }).waitFor();
    expect(await page.getByText('Three things to try').count()).toBe(0);
  });

  it('dashboard: applies a bulk action to all matching connections and shows its progress', async () => {
    await visit('Connections');
    await page.getByLabel('Search', { exact: true }).fill('northwind/');
    await until('some match', async () => {
      const rows = await page.locator('tbody tr').count();
      return rows > 0 && rows < 10;
    });
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Sync now|Start|Do it/ })
      .first()
      .click();
    await page
      .getByRole('dialog')
      .getByText(/done|changed|of \d+/i)
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
  });

  it('audit: revokes a key and its descendants, and filters the audit log by key', async () => {
    const create = async (name: string, headers: Record<string, string>) => {
      const answer = await page.request.post(new URL('v1/keys', base).href, { data: { name }, headers });
      return (await answer.json()) as { id: string; key: string };
    };
    const root = await create('browser root', { 'x-syncline-request': '1' });
    const child = await create('browser child', { authorization: `Bearer ${root.key}` });
    await visit('Keys');
    await page.getByRole('button', { name: 'Revoke browser root' }).click();
    const also = page.getByRole('dialog').getByLabel('Also revoke 1 key created with it');
    await also.check();
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(phone);
      if (isFullSize) await screenshot(page, `revoke-${colorScheme}-phone`);
      await page.setViewportSize(desktop);
      if (isFullSize) await screenshot(page, `revoke-${colorScheme}`);
      await expectAccessible(page);
    }
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked.').waitFor();
    const headers = { authorization: `Bearer ${child.key}` };
    const refused = await page.request.get(new URL('v1/me', base).href, { headers });
    expect(refused.status()).toBe(401);
    await visit('Audit');
    await page.getByLabel('Key', { exact: true }).fill(root.id);
    const created = page.getByRole('rowheader', { name: 'key.created' });
    await until('only what was done with the key is shown', async () => (await created.count()) === 1);
    expect(new URL(page.url()).searchParams.get('key_id')).toBe(root.id);
  });

  it('dashboard: no screen overflows or has a serious axe violation, in any scheme or size', async () => {
    const job = await page.request.get(new URL('v1/jobs?status=succeeded&limit=1', base).href);
    const connection = await page.request.get(new URL('v1/connections?search=acme&limit=1', base).href);
    const any = await page.request.get(new URL('v1/connections?limit=1', base).href);
    const idOf = async (response: typeof job) =>
      ((await response.json()) as { items: { id: string }[] }).items[0]?.id;
    const screens: Record<string, string> = {
      pulse: '',
      connections: 'connections',
      connection: `connections/${(await idOf(connection)) ?? (await idOf(any))}`,
      jobs: 'jobs',
      job: `jobs/${await idOf(job)}`,
      signals: 'signals',
      system: 'system',
      audit: 'audit',
      keys: 'keys',
      docs: 'docs',
    };
    for (const [i, [name, path]] of Object.entries(screens).entries())
      for (const colorScheme of ['light', 'dark'] as const) {
        // At reduced size, every second screen is tested, in one scheme.
        if (!isFullSize && i % 4 !== (colorScheme === 'dark' ? 2 : 0)) continue;
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(desktop);
        await page.goto(new URL(path, base).href);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page
          .locator('.skeleton')
          .first()
          .waitFor({ state: 'detached' })
          .catch(() => {});
        // Charts render after their data arrives.
        await page.waitForTimeout(300);
        if (isFullSize) await screenshot(page, `${name}-${colorScheme}`);
        await expectAccessible(page);
        await expectNoOverflow(page);
        await page.setViewportSize(phone);
        await expectNoOverflow(page);
        if (isFullSize) await screenshot(page, `${name}-${colorScheme}-phone`);
      }
    await page.setViewportSize(desktop);
  }, 600_000);

  it('dashboard: after logout, pages require a key', async () => {
    await page.goto(base);
    await heading('Overview').waitFor();
    expect(consoleErrors).toEqual([]);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('API key').waitFor();
    if (isFullSize) await screenshot(page, 'login-dark');
    await page.goto(new URL('connections', base).href);
    await page.getByLabel('API key').waitFor();
    await page.getByLabel('API key').fill('syn_wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText(/key/i).last().waitFor();
    expect((await context.cookies()).map(({ name }) => name)).toEqual([]);
  });
});
