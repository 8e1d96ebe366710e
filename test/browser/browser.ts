import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { expect } from 'vitest';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const pictures = join(process.cwd(), 'test-results');

/** A real browser, which comes with `npm ci`. */
export async function launch(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // In a single process, as it is meant for elsewhere, closing one window closes all.
    args: chromium.args.filter((arg) => arg !== '--single-process'),
    headless: true,
  });
}

/** What the page complained of: nothing may be in it at the end. */
export function listen(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  return complaints;
}

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Nothing that keeps somebody from using the page. */
export async function expectAccessible(page: Page): Promise<void> {
  // By the protocol, which the page's own content policy does not keep out.
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

/** Nothing sticks out to the right. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const widths = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
  const [content, window] = widths as [number, number];
  expect(content).toBeLessThanOrEqual(window);
}

/** The documentation of the API is some twenty screens long; what is below these says nothing more about how it looks. */
const tallest = 4000;

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  const [width, height] = (await page.evaluate(
    '[document.documentElement.clientWidth, document.documentElement.scrollHeight]',
  )) as [number, number];
  const clip = { x: 0, y: 0, width, height: Math.min(height, tallest) };
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true, clip });
}
