import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { collectConsoleErrors, expectNoOverflow, launch, screenshot } from '../browser/browser.ts';
import { cleanUpAfterEach } from '../support/cleanup.ts';
import { root } from '../support/markdown.ts';
import { startProcess } from '../support/process.ts';
import { isFullSize } from '../support/size.ts';

const dist = join(root, 'site/dist');
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const closers: (() => unknown)[] = [];
cleanUpAfterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const isOffline = (output: string) => /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|E404|ETARGET/.test(output);

/** Installs the site's packages, or skips the test without a registry: the engine does not need them. */
async function install(context: TestContext): Promise<void> {
  if (existsSync(join(root, 'site/node_modules/.package-lock.json'))) return;
  const { code, stderr } = await startProcess('npm', ['--prefix', 'site', 'ci', '--prefer-offline'], {
    cwd: root,
  }).finished;
  if (isOffline(stderr)) context.skip(`the packages of the site cannot be installed: ${stderr.slice(-300)}`);
  expect(code, stderr).toBe(0);
}

/** Serves the built files as any static host would. */
async function serve(): Promise<string> {
  const server = createServer(({ url = '/' }, response) => {
    const path = decodeURI(new URL(url, 'http://localhost').pathname);
    const file = join(dist, path.endsWith('/') ? `${path}index.html` : path);
    if (!existsSync(file)) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': types[extname(file)] ?? '' }).end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const pagesShown = ['/', '/quickstart.html', '/guides/troubleshooting.html', '/reference/configuration.html'];

describe.runIf(isFullSize)('docs: the site', () => {
  it('docs: the site builds, needs no other host, finds pages and fits a phone', async (context) => {
    await install(context);
    const built = await startProcess(process.execPath, ['scripts/docs.mjs', 'build'], { cwd: root }).finished;
    expect({ code: built.code, stderr: built.stderr }).toMatchObject({ code: 0 });
    const origin = await serve();
    const browser = await launch();
    closers.push(() => browser.close());

    for (const [name, width, colorScheme] of [
      ['wide-light', 1440, 'light'],
      ['wide-dark', 1440, 'dark'],
      ['narrow-light', 390, 'light'],
      ['narrow-dark', 390, 'dark'],
    ] as const) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      const errors = collectConsoleErrors(page);
      const requested: string[] = [];
      page.on('request', (request) => requested.push(request.url()));
      for (const path of pagesShown) {
        await page.goto(`${origin}${path}`, { waitUntil: 'networkidle' });
        await expectNoOverflow(page);
        const title = path === '/' ? 'home' : path.replaceAll(/^\/|\.html$/g, '').replaceAll('/', '-');
        await screenshot(page, `site-${title}-${name}`);
      }
      expect(requested.filter((url) => !url.startsWith(origin) && !url.startsWith('data:'))).toEqual([]);
      expect(errors).toEqual([]);
      await page.close();
    }

    const page = await browser.newPage();
    await page.goto(origin, { waitUntil: 'networkidle' });
    // Until then the button does nothing.
    await page.waitForFunction('document.querySelector("#app")?.__vue_app__ !== undefined');
    await page.locator('#local-search button').click();
    await page.locator('.VPLocalSearchBox input').fill('jitterPctMax');
    await page.locator('.VPLocalSearchBox a.result[href*="/reference/configuration"]').first().waitFor();
    await page.close();
  });

  it('docs: the types of the package resolve in every module mode of an ESM package', async (context) => {
    await install(context);
    const folder = mkdtempSync(join(tmpdir(), 'syncline-types-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const packed = await startProcess('npm', pack, { cwd: root }).finished;
    const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
    const { code, stdout } = await startProcess(
      join(root, 'site/node_modules/.bin/attw'),
      [join(folder, filename), '--profile', 'esm-only', '--no-emoji'],
      { cwd: root },
    ).finished;
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });
});
