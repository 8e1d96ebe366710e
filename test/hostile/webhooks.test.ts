import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { githubSignature, slackReaction, slackSignature } from '../../src/contract/signatures.ts';
import { createApp } from '../../src/http/app.ts';
import { type HttpServer, startServer } from '../../src/http/server.ts';
import { createSyncline, type Syncline } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { faultsOf } from '../http/answer-faults.ts';
import { type Wire, wireTo } from '../http/wire.ts';
import { silent, useDatabase } from '../support/database.ts';
import { asGithub, credentials, hooked, pathOf } from '../webhooks/webhook-connector.ts';
import { reactionCases } from './reaction-cases.ts';
import { stillSyncs } from './still-syncs.ts';
import { type WebhookWorld, webhookCases } from './webhook-cases.ts';

const database = useDatabase();
const { sql } = database;
const reactions = new Map<string, () => unknown>(reactionCases.map(({ name, react }) => [name, react]));
let currentReaction = '';
let engine: Syncline;
let server: HttpServer;
let wire: Wire;
let world: WebhookWorld;
/** Occurs only in data of the other tenant. */
const canary = 'canary-of-another-tenant';

beforeAll(async () => {
  engine = createSyncline({
    database: database.url,
    logger: silent,
    credentials,
    connectors: [
      hooked({ verify: githubSignature() }),
      hooked({ verify: slackSignature(), react: slackReaction }, { provider: 'slack' }),
      hooked(
        { verify: githubSignature(), react: () => reactions.get(currentReaction)?.() as object },
        { provider: 'odd' },
      ),
    ],
  });
  const app = createApp({ syncline: engine, log: silent, version: 'test' });
  server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  wire = wireTo(server.url);
  const [mine, theirs] = [
    await engine.tenants.create({ name: 'mine' }),
    await engine.tenants.create({ name: canary }),
  ];
  const made = async (tenantId: string, provider: string, externalId: string) => {
    const { id } = await engine.connections.create({ tenantId, provider, externalId });
    return { id, secret: (await engine.webhooks.create(id)).secret };
  };
  const [github, slack, other, foreign] = [
    await made(mine.id, 'github', 'one'),
    await made(mine.id, 'slack', 'two'),
    await made(mine.id, 'github', 'three'),
    await made(theirs.id, 'github', canary),
  ] as const;
  world = {
    github: github.id,
    slack: slack.id,
    other: other.id,
    foreign: foreign.id,
    secret: github.secret,
    otherSecret: other.secret,
    slackSecret: slack.secret,
    nowMs: Date.now(),
  };
});
beforeEach(() => sql('DELETE FROM sync_jobs'));
afterAll(async () => {
  wire?.close();
  await server?.close();
  await engine?.stop();
});

const pending = () =>
  sql<{ connection_id: string }>('SELECT connection_id FROM sync_jobs ORDER BY connection_id');

describe('hostile deliveries: all invalid signatures get the same 401, any signed body is accepted', () => {
  it.each(webhookCases.map((testCase) => [testCase.name, testCase] as const))(
    'delivery: gets the expected response: %s',
    async (_name, testCase) => {
      world.nowMs = Date.now();
      const { to, path, body, headers } = testCase.deliver(world);
      const target = path ?? pathOf(world[to], to === 'slack' ? 'slack' : 'github');
      const answer = await wire.send({ method: 'POST', target, headers, body });
      expect(answer.status, answer.text).toBe(testCase.status);
      if (testCase.response) expect(answer.text).toMatch(testCase.response);
      if (testCase.status === 401)
        expect(answer.text).toMatch(/"detail":"The signature of the delivery is invalid/);
      expect(faultsOf('POST', answer, [world.secret, world.otherSecret, world.slackSecret, canary])).toEqual(
        [],
      );
      const isAccepted = testCase.status < 300 && !testCase.quiet;
      expect(await pending()).toEqual(isAccepted ? [{ connection_id: world[to] }] : []);
      expect(Object.keys(Object.prototype)).toEqual([]);
    },
  );

  it('delivery: 100 equal deliveries queue one sync', async () => {
    const body = '{"again":true}';
    const headers = asGithub(world.secret, body);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        wire.send({ method: 'POST', target: pathOf(world.github), headers, body }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(await pending()).toEqual([{ connection_id: world.github }]);
  });

  it.each(reactionCases.map((testCase) => [testCase.name, testCase] as const))(
    'reaction: gets the expected response and does not suppress the sync: %s',
    async (name, testCase) => {
      currentReaction = name;
      const { id: tenantId } = await engine.tenants.create({ name });
      const { id } = await engine.connections.create({ tenantId, provider: 'odd' });
      const { secret } = await engine.webhooks.create(id);
      const body = '{}';
      const answer = await wire.send({
        method: 'POST',
        target: pathOf(id, 'odd'),
        headers: asGithub(secret, body),
        body,
      });
      expect({ status: answer.status, text: answer.text }).toEqual(testCase.response);
      const [stored] = await sql<{ n: number }>(
        'SELECT count(*)::int AS n FROM signals WHERE connection_id = $1',
        [id],
      );
      expect(stored?.n).toBe(testCase.signals ?? 0);
      // A failing reaction does not suppress the sync.
      const waiting = await sql(`SELECT FROM sync_jobs WHERE connection_id = $1 AND status = 'queued'`, [id]);
      expect(waiting).toHaveLength(1);
    },
  );

  it('delivery: a healthy connection still syncs afterwards', () => stillSyncs(database));
});
