import { beforeEach, describe, expect, it } from 'vitest';
import { type Service, startService } from '../http/service.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { newKey, oauthConnector } from './handles.ts';
import { type OAuthServer, startOAuthServer } from './oauth-server.ts';
import { fieldsOf, newVisitor } from './visitor.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
let server: OAuthServer;
beforeEach(async () => {
  await database.empty();
  server = await startOAuthServer();
});

const engine = () => ({ credentials: { keys }, connectors: [oauthConnector(server.oauth2)] });
const serve = () => startService(database, { engine: engine() });

async function linkTo({ syncline, call }: Service, externalId = 'acme') {
  const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'github', externalId });
  const json = { connection_id: id };
  const { body } = await call('/v1/connections/authorize', { method: 'POST', json });
  return { id, link: String(body['authorization_url']) };
}

const isConnected = async ({ syncline }: Service, id: string) =>
  (await syncline.connections.get(id)).credentialId !== undefined;
const sameOrigin = { 'sec-fetch-site': 'same-origin' };

describe('consent: an authorization belongs to one browser', () => {
  it('consent: a callback in another browser than the one that started it is rejected', async () => {
    const service = await serve();
    const { id, link } = await linkTo(service);
    const [attacker, victim] = [newVisitor(), newVisitor()];
    const { location } = await attacker.proceed(link);
    // The victim consents at the provider and returns with a valid code and state.
    const back = (await victim.visit(location)).location;
    const refused = await victim.visit(back);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('was not started in this browser');
    expect(refused.text).toContain('Start again and finish in the same browser');
    const program = await victim.visit(back, { headers: { accept: 'application/json' } });
    expect(JSON.parse(program.text)).toMatchObject({ code: 'FORBIDDEN' });
    expect([await isConnected(service, id), server.requests.length]).toEqual([false, 0]);
    // Also for a link that the attacker opened, and for a victim with their own cookie.
    expect((await victim.proceed(link)).status).toBe(403);
    await victim.proceed((await linkTo(service, 'other')).link);
    expect((await victim.visit(back)).status).toBe(403);
    expect(await isConnected(service, id)).toBe(false);
    // It remains valid in the browser that started it.
    expect((await attacker.visit(back)).status).toBe(200);
    expect(await isConnected(service, id)).toBe(true);
  });

  it('consent: only a same-origin form submission redirects to the provider', async () => {
    const service = await serve();
    const { link } = await linkTo(service);
    const visitor = newVisitor();
    const form = fieldsOf((await visitor.visit(link)).text);
    const action = `${service.url}/v1/connections/consent`;
    const own = { origin: service.url };
    for (const [what, headers] of [
      ['another site', { 'sec-fetch-site': 'cross-site', ...own }],
      ['another origin of the site', { 'sec-fetch-site': 'same-site', ...own }],
      ['no page', { 'sec-fetch-site': 'none', ...own }],
      ['another origin, by an old browser', { origin: 'https://evil.example' }],
      ['a page without an origin', { origin: 'null' }],
      ['a browser without these headers', {}],
    ] as const) {
      const refused = await visitor.visit(action, { form, headers: headers as Record<string, string> });
      expect([what, refused.status, refused.headers.getSetCookie()]).toEqual([what, 403, []]);
    }
    const stranger = newVisitor();
    const other = fieldsOf((await stranger.visit(link)).text);
    for (const [what, fields, from] of [
      ['the token of another browser', other, visitor],
      ['no cookie', form, newVisitor()],
      ['the token of another link', { ...form, link: 'x'.repeat(43) }, visitor],
    ] as const) {
      const refused = await from.visit(action, { form: fields, headers: sameOrigin });
      expect([what, refused.status]).toEqual([what, 403]);
    }
    const large = { ...form, more: 'x'.repeat(2000) };
    expect((await visitor.visit(action, { form: large, headers: sameOrigin })).status).toBe(413);
    expect(await sql('SELECT FROM authorizations WHERE browser IS NULL')).toHaveLength(1);
    expect((await visitor.visit(action, { form, headers: own })).status).toBe(303);
  });

  it('consent: the cookie of another authorization is rejected, also in the same browser', async () => {
    const service = await serve();
    const [first, second] = [await linkTo(service), await linkTo(service)];
    const visitor = newVisitor();
    const started = await visitor.proceed(first.link);
    const other = await visitor.proceed(second.link);
    const proofOf = (visit: typeof started) => visit.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const [name] = proofOf(started).split('=');
    const [, value] = proofOf(other).split('=');
    const back = (await visitor.visit(started.location)).location;
    const refused = await newVisitor().visit(back, { headers: { cookie: `${name}=${value}` } });
    expect([refused.status, await isConnected(service, first.id)]).toEqual([403, false]);
    const stored = await sql<{ row: string }>('SELECT t::text AS row FROM authorizations t');
    for (const { row } of stored) expect(row).not.toContain(value);
  });

  it('consent: two tabs with two connections finish in any order, and their cookies are removed', async () => {
    const service = await serve();
    const [first, second] = [await linkTo(service), await linkTo(service)];
    const visitor = newVisitor();
    const backs = [await visitor.consent(first.link), await visitor.consent(second.link)];
    expect(visitor.cookies()).toHaveLength(3);
    for (const back of backs.reverse()) expect((await visitor.visit(back)).status).toBe(200);
    expect([await isConnected(service, first.id), await isConnected(service, second.id)]).toEqual([
      true,
      true,
    ]);
    expect(visitor.cookies()).toEqual(['syncline_consent']);
  });

  it('consent: over https only __Host- cookies are read, and they are removed at the end', async () => {
    const origin = 'https://sync.example.com';
    const service = await startService(database, { engine: { ...engine(), server: { publicUrl: origin } } });
    const { id, link } = await linkTo(service);
    const local = (url: string) => url.replace(origin, service.url);
    const headers = { 'sec-fetch-site': 'same-origin' };
    // The attacker sets the cookie of their own browser, without the prefix.
    const attacker = newVisitor();
    const form = fieldsOf((await attacker.visit(local(link))).text);
    const [name = '', value = ''] = attacker.cookie(/^__Host-syncline_consent$/);
    expect(name).not.toBe('');
    const action = `${service.url}/v1/connections/consent`;
    const planted = `syncline_consent=${value}`;
    const refused = await newVisitor().visit(action, { form, headers: { ...headers, cookie: planted } });
    expect(refused.status).toBe(403);
    const page = await newVisitor().visit(local(link), { headers: { cookie: planted } });
    expect(page.headers.getSetCookie()[0]).toMatch(/^__Host-syncline_consent=/);
    expect(page.headers.getSetCookie()[0]).not.toContain(value);
    // Also for the cookie of the callback.
    const sent = await attacker.visit(action, { form, headers });
    const back = local((await attacker.visit(sent.location)).location);
    const [bound = '', proof = ''] = attacker.cookie(/^__Host-syncline_consent_/);
    const unprefixed = `${bound.replace('__Host-', '')}=${proof}`;
    expect((await newVisitor().visit(back, { headers: { cookie: unprefixed } })).status).toBe(403);
    expect(await isConnected(service, id)).toBe(false);
    expect((await attacker.visit(back)).status).toBe(200);
    expect(attacker.cookies()).toEqual(['__Host-syncline_consent']);
  });

  it('consent: starting again in the same browser invalidates the previous state', async () => {
    const service = await serve();
    const { id, link } = await linkTo(service);
    const visitor = newVisitor();
    const [abandoned, used] = [await visitor.consent(link), await visitor.consent(link)];
    expect((await visitor.visit(abandoned)).status).toBe(410);
    expect(await isConnected(service, id)).toBe(false);
    expect((await visitor.visit(used)).status).toBe(200);
    expect((await visitor.visit(used)).status).toBe(410);
    expect((await visitor.visit(link)).status).toBe(410);
    expect((await visitor.proceed(link)).status).toBe(400);
    expect(server.requests).toHaveLength(1);
  });

  it('consent: the page names the tenant, escapes HTML, cannot be framed and writes nothing', async () => {
    const service = await serve();
    await sql(`UPDATE tenants SET name = '<script>alert(1)</script> "Acme" & Sons'`);
    const { link } = await linkTo(service, `<img src=x onerror=alert(1)>${'y'.repeat(300)}`);
    await sql(`UPDATE providers SET display_name = 'Git<b>Hub'`);
    const before = await sql('SELECT * FROM authorizations');
    const page = await newVisitor().visit(link);
    await sql(`UPDATE tenants SET name = 'a tenant'`);
    await sql('UPDATE providers SET display_name = NULL');
    expect(page.status).toBe(200);
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &quot;Acme&quot; &amp; Sons');
    expect(page.text).toContain('Continue to <bdi>Git&lt;b&gt;Hub</bdi>');
    expect(page.text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(page.text).not.toMatch(/<script|<img|<b>/);
    expect(page.text).toContain(new URL(server.url).host);
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(await sql('SELECT * FROM authorizations')).toEqual(before);
  });

  it('consent: an application can bind a link to its own session with start() and finish()', async () => {
    const syncline = database.engine(engine());
    const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'github' });
    const redirectUri = 'https://app.example.com/callback';
    const { link } = await syncline.credentials.authorize({ connectionId: id, redirectUri });
    expect(await syncline.oauth.describe(link)).toMatchObject({
      ...{ connectionId: id, tenantName: 'a tenant', providerName: 'github' },
    });
    const browser = 'the session of one person, 32 characters or more';
    await expect(syncline.oauth.start({ link, browser: 'short' })).rejects.toThrow(
      'browser must be a secret of 32 to 1000 characters.',
    );
    const { redirectTo, state } = await syncline.oauth.start({ link, browser });
    const { headers } = await fetch(redirectTo, { redirect: 'manual' });
    const code = new URL(headers.get('location') ?? '').searchParams.get('code') ?? '';
    for (const wrong of [undefined, '', `${browser}.`])
      await expect(syncline.oauth.complete({ state, code, browser: wrong })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    expect(await syncline.oauth.complete({ state, code, browser })).toMatchObject({
      ...{ connectionId: id, error: undefined },
    });
  });
});
