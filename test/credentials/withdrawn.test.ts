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

const serve = () =>
  startService(database, {
    engine: { credentials: { keys }, connectors: [oauthConnector(server.oauth2)] },
  });

/** An API key and a connection of one tenant, optionally with OAuth 2 tokens. */
async function setUp({ syncline }: Service, withTokens: boolean) {
  const key = await syncline.keys.create({ name: `leaked ${Math.random()}`, tenantId: tenant });
  const secret = { type: 'oauth2' as const, ...server.issue() };
  const credential = { tenantId: tenant, provider: 'github', secret };
  const credentialId = withTokens ? (await syncline.credentials.create(credential)).id : undefined;
  const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'github', credentialId });
  return { key, id };
}

async function linkTo({ call }: Service, { key, id }: Awaited<ReturnType<typeof setUp>>): Promise<string> {
  const json = { connection_id: id };
  const { body } = await call('/v1/connections/authorize', { method: 'POST', json, key: key.key });
  return String(body['authorization_url']);
}

const credentials = () => sql('SELECT id, generation, sealed FROM credentials ORDER BY id');

const withdrawals: [
  what: string,
  withdraw: (service: Service, setup: Awaited<ReturnType<typeof setUp>>) => Promise<unknown>,
][] = [
  ['its key is revoked', ({ syncline }, { key }) => syncline.keys.revoke(key.id)],
  [
    'its connection is being deleted',
    (_, { id }) =>
      sql(`UPDATE connections SET status = 'disabled', deleting_since = now() WHERE id = $1`, [id]),
  ],
];

describe.each(withdrawals)('consent: a link after %s', (what, withdraw) => {
  it.each([true, false])(
    `consent: after ${what} a link cannot be opened, started or finished (tokens before: %s)`,
    async (withTokens) => {
      const service = await serve();
      const setup = await setUp(service, withTokens);
      const [unopened, opened, consented] = [newVisitor(), newVisitor(), newVisitor()];
      const links = [
        await linkTo(service, setup),
        await linkTo(service, setup),
        await linkTo(service, setup),
      ];
      const form = fieldsOf((await opened.visit(links[1] ?? '')).text);
      const back = await consented.consent(links[2] ?? '');
      const before = await credentials();
      await withdraw(service, setup);
      const page = await unopened.visit(links[0] ?? '');
      expect([page.status, page.text]).toEqual([410, expect.stringContaining('was withdrawn')]);
      const started = await opened.visit(`${service.url}/v1/connections/consent`, {
        ...{ form, headers: { 'sec-fetch-site': 'same-origin' } },
      });
      expect([started.status, started.location]).toEqual([410, '']);
      const finished = await consented.visit(back);
      expect([finished.status, finished.text]).toEqual([410, expect.stringContaining('was withdrawn')]);
      expect(server.requests).toEqual([]);
      expect(await credentials()).toEqual(before);
    },
  );

  it.each([true, false])(
    `consent: tokens that arrive after ${what} are not stored (tokens before: %s)`,
    async (withTokens) => {
      const service = await serve();
      const setup = await setUp(service, withTokens);
      const visitor = newVisitor();
      const back = await visitor.consent(await linkTo(service, setup));
      const before = await credentials();
      server.behaviour.before = async () => void (await withdraw(service, setup));
      expect((await visitor.visit(back)).status).toBe(410);
      expect(server.requests).toHaveLength(1);
      expect(await credentials()).toEqual(before);
      expect(await sql(`SELECT FROM events WHERE kind = 'credential.authorized'`)).toEqual([]);
    },
  );
});

describe('consent: the audit log names the key of a link', () => {
  it.each([true, false])(
    'consent: creating a link and its consent are recorded with the key (tokens before: %s)',
    async (withTokens) => {
      const service = await serve();
      const setup = await setUp(service, withTokens);
      const visitor = newVisitor();
      expect((await visitor.visit(await visitor.consent(await linkTo(service, setup)))).status).toBe(200);
      const { items } = await service.syncline.audit.list({ keyId: setup.key.id });
      const byLink = { actor: `key:${setup.key.name}`, tenantId: tenant, connectionId: setup.id };
      expect(items.filter(({ kind }) => kind.includes('authoriz'))).toMatchObject([
        { ...byLink, kind: 'credential.authorized' },
        { ...byLink, kind: 'connection.authorization_requested', detail: { provider: 'github' } },
      ]);
    },
  );
});
