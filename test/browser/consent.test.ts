import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { defineConnector } from '../../src/index.ts';
import { newKey } from '../credentials/handles.ts';
import { startOAuthServer } from '../credentials/oauth-server.ts';
import { startService } from '../http/service.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { expectAccessible, expectNoOverflow, launch, screenshot } from './browser.ts';

const database = useDatabase();
const cleanups: (() => void)[] = [];
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterEach(() => {
  for (const close of cleanups.splice(0)) close();
});
afterAll(() => browser?.close());

/** Starts another origin: browsers treat localhost and 127.0.0.1 as different sites. */
async function startOtherSite(html: () => string): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html());
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  cleanups.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

async function setUp(attackHtml: () => string = () => '<h1>Your settings</h1>') {
  const product = await startOtherSite(attackHtml);
  const provider = await startOAuthServer();
  const service = await startService(database, {
    engine: {
      credentials: { keys: [newKey()] },
      server: { returnOrigins: [product] },
      connectors: [
        defineConnector({
          provider: 'github',
          name: 'GitHub',
          oauth2: {
            ...provider.oauth2,
            authorizationUrl: provider.oauth2.authorizationUrl.replace('127.0.0.1', 'localhost'),
            scopes: ['repo', 'read:user'],
          },
          sync: async () => ({ signals: [] }),
        }),
      ],
    },
  });
  const newLink = async (externalId: string) => {
    const { id } = await service.syncline.connections.create({
      ...{ tenantId: tenant, provider: 'github', externalId },
    });
    const json = { connection_id: id, return_to: `${product}/settings` };
    const { body } = await service.call('/v1/connections/authorize', { method: 'POST', json });
    return { id, link: String(body['authorization_url']) };
  };
  const isConnected = async (id: string) =>
    (await service.syncline.connections.get(id)).credentialId !== undefined;
  return { service, product, newLink, isConnected };
}

it('consent: works without JavaScript, in two tabs in parallel', async () => {
  const { product, newLink, isConnected } = await setUp();
  const context = await browser.newContext({ javaScriptEnabled: false });
  const [first, second] = [await newLink('acme'), await newLink('umbrella')];
  const [firstTab, secondTab] = [await context.newPage(), await context.newPage()];
  await firstTab.goto(first.link);
  await secondTab.goto(second.link);
  await firstTab.getByRole('heading', { level: 1, name: 'Connect GitHub' }).waitFor();
  await firstTab.getByText('a tenant asks for access to your GitHub account.').waitFor();
  // The second flow starts while the first is open and completes before it.
  for (const page of [secondTab, firstTab]) {
    await page.getByRole('button', { name: 'Continue to GitHub' }).click();
    await page.waitForURL(`${product}/settings?**`);
    expect(new URL(page.url()).searchParams.get('status')).toBe('authorized');
  }
  expect([await isConnected(first.id), await isConnected(second.id)]).toEqual([true, true]);
  await firstTab.goto(first.link);
  await firstTab.getByText('This link was already used').waitFor();
  await context.close();
});

it("consent: another site can neither submit an attacker's link nor frame the page", async () => {
  let attackHtml = '';
  const { service, product, newLink, isConnected } = await setUp(() => attackHtml);
  const { id, link } = await newLink('evil');
  const { searchParams } = new URL(link);
  const attacker = await browser.newContext();
  const page = await attacker.newPage();
  await page.goto(link);
  const token = await page.locator('input[name=token]').getAttribute('value');
  attackHtml = `<form method="post" action="${service.url}/v1/connections/consent">
    <input name="link" value="${searchParams.get('link')}"><input name="token" value="${token}"></form>
    <script>document.forms[0].submit()</script>`;
  const victim = await browser.newContext();
  const victimPage = await victim.newPage();
  // The victim is attacked before and after opening the consent page.
  for (const visit of [product, link, product]) await victimPage.goto(visit);
  await victimPage.getByText('was not sent by the consent page').waitFor();
  expect(new URL(victimPage.url()).origin).toBe(service.url);
  // The attacker continues to the provider and has the victim consent there.
  const sent = await attacker.request.post(`${service.url}/v1/connections/consent`, {
    form: { link: searchParams.get('link') ?? '', token: token ?? '' },
    headers: { 'sec-fetch-site': 'same-origin' },
    maxRedirects: 0,
  });
  const providerUrl = sent.headers()['location'] ?? '';
  expect(providerUrl).toContain('state=');
  await victimPage.goto(providerUrl);
  await victimPage.getByText('was not started in this browser').waitFor();
  expect(await isConnected(id)).toBe(false);

  attackHtml = `<iframe src="${link}"></iframe>`;
  const refused = victimPage.waitForEvent('console', (message) =>
    /frame-ancestors|X-Frame/i.test(message.text()),
  );
  await victimPage.goto(product);
  await refused;
  await Promise.all([attacker.close(), victim.close()]);
});

it.each([
  ['light', 'wide', { width: 1280, height: 900 }],
  ['dark', 'narrow', { width: 375, height: 800 }],
  ['light', 'narrow', { width: 320, height: 640 }],
  ['dark', 'wide', { width: 1280, height: 900 }],
] as const)(
  'consent: the page is accessible and does not overflow in the %s scheme on a %s viewport',
  async (colorScheme, width, viewport) => {
    const { newLink } = await setUp();
    const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
    const page = await context.newPage();
    await page.goto((await newLink(`acme-${'x'.repeat(120)}`)).link);
    await expectNoOverflow(page);
    await screenshot(page, `consent-${colorScheme}-${width}`);
    await expectAccessible(page);
    await context.close();
  },
);
