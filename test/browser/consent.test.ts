import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { defineConnector } from '../../src/index.ts';
import { newKey } from '../credentials/handles.ts';
import { startOAuthServer } from '../credentials/oauth-server.ts';
import { startService } from '../http/service.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { expectAccessible, expectNoOverflow, launch, picture } from './browser.ts';

const database = useDatabase();
const closing: (() => void)[] = [];
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
}, 60_000);
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
afterAll(() => browser?.close());

/** A site that is another one than the service's: browsers tell 127.0.0.1 and localhost apart. */
async function otherSite(html: () => string): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html());
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

async function setUp(attack: () => string = () => '<h1>Your settings</h1>') {
  const product = await otherSite(attack);
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

it('consent: without scripts, a browser goes from the page to the provider and on to the product, in two tabs at once', async () => {
  const { product, newLink, isConnected } = await setUp();
  const context = await browser.newContext({ javaScriptEnabled: false });
  const [first, second] = [await newLink('acme'), await newLink('umbrella')];
  const [one, two] = [await context.newPage(), await context.newPage()];
  await one.goto(first.link);
  await two.goto(second.link);
  await one.getByRole('heading', { level: 1, name: 'Connect GitHub' }).waitFor();
  await one.getByText('a tenant asks for access to your GitHub account.').waitFor();
  // The second one begins while the first is away, and ends before it.
  for (const page of [two, one]) {
    await page.getByRole('button', { name: 'Continue to GitHub' }).click();
    await page.waitForURL(`${product}/settings?**`);
    expect(new URL(page.url()).searchParams.get('status')).toBe('authorized');
  }
  expect([await isConnected(first.id), await isConnected(second.id)]).toEqual([true, true]);
  await one.goto(first.link);
  await one.getByText('This link was used already').waitFor();
  await context.close();
});

it("consent: another site cannot send a visitor's browser through an attacker's link, nor frame the page", async () => {
  let attack = '';
  const { service, product, newLink, isConnected } = await setUp(() => attack);
  const { id, link } = await newLink('evil');
  const { searchParams } = new URL(link);
  const attacker = await browser.newContext();
  const page = await attacker.newPage();
  await page.goto(link);
  const token = await page.locator('input[name=token]').getAttribute('value');
  attack = `<form method="post" action="${service.url}/v1/connections/consent">
    <input name="link" value="${searchParams.get('link')}"><input name="token" value="${token}"></form>
    <script>document.forms[0].submit()</script>`;
  const victim = await browser.newContext();
  const lured = await victim.newPage();
  // Once as a stranger, and once as somebody who has the page open.
  for (const visit of [product, link, product]) await lured.goto(visit);
  await lured.getByText('does not come from the consent page').waitFor();
  expect(new URL(lured.url()).origin).toBe(service.url);
  // The attacker goes as far as the provider, and has the victim consent there.
  const sent = await attacker.request.post(`${service.url}/v1/connections/consent`, {
    form: { link: searchParams.get('link') ?? '', token: token ?? '' },
    headers: { 'sec-fetch-site': 'same-origin' },
    maxRedirects: 0,
  });
  const stolen = sent.headers()['location'] ?? '';
  expect(stolen).toContain('state=');
  await lured.goto(stolen);
  await lured.getByText('was not started in this browser').waitFor();
  expect(await isConnected(id)).toBe(false);

  attack = `<iframe src="${link}"></iframe>`;
  const refused = lured.waitForEvent('console', (message) => /frame-ancestors|X-Frame/i.test(message.text()));
  await lured.goto(product);
  await refused;
  await Promise.all([attacker.close(), victim.close()]);
});

it.each([
  ['light', 'wide', { width: 1280, height: 900 }],
  ['dark', 'narrow', { width: 375, height: 800 }],
  ['light', 'narrow', { width: 320, height: 640 }],
  ['dark', 'wide', { width: 1280, height: 900 }],
] as const)('consent: the page is readable, %s and %s', async (colorScheme, width, viewport) => {
  const { newLink } = await setUp();
  const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
  const page = await context.newPage();
  await page.goto((await newLink(`acme-${'x'.repeat(120)}`)).link);
  await expectNoOverflow(page);
  await picture(page, `consent-${colorScheme}-${width}`);
  await expectAccessible(page);
  await context.close();
});
