import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { expect } from 'vitest';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const screenshots = join(process.cwd(), 'test-results');

// Its default draws every page with SwiftShader, a GPU in software, which takes half of the CPU time of these tests.
chromium.setGraphicsMode = false;

/** Launches Chromium, which `npm ci` installs. */
export async function launch(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // With --single-process, closing one context closes the browser.
    args: [...chromium.args.filter((arg) => arg !== '--single-process'), '--disable-gpu'],
    headless: true,
  });
}

/** Collects errors and warnings of the page and its console. */
export function collectConsoleErrors(page: Page): string[] {
  const consoleErrors: string[] = [];
  page.on('pageerror', (error) => consoleErrors.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      consoleErrors.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  return consoleErrors;
}

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Expects no serious or critical axe violation. */
export async function expectAccessible(page: Page): Promise<void> {
  // Injected through the DevTools protocol, which the page's CSP does not block.
  await page.addScriptTag({ path: axePath }).catch(() => {});
  expect(await page.evaluate('"axe" in window')).toBe(true);
  const { violations } = (await page.evaluate(
    '(async () => axe.run(document, { resultTypes: ["violations"] }))()',
  )) as AxeResult;
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`),
  ).toEqual([]);
}

/** Expects no horizontal overflow. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const widths = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
  const [content, window] = widths as [number, number];
  expect(content).toBeLessThanOrEqual(window);
}

/** Crops very long pages such as the API reference. */
const maxHeightPx = 4000;

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true });
  const [width, height] = (await page.evaluate(
    '[document.documentElement.clientWidth, document.documentElement.scrollHeight]',
  )) as [number, number];
  const clip = { x: 0, y: 0, width, height: Math.min(height, maxHeightPx) };
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true, clip });
}
