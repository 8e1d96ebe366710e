import { describe, expect, it } from 'vitest';
import { github } from '../../../src/connectors/index.ts';
import type { Signal } from '../../../src/contract/connector.ts';
import type { Delivery, Reaction } from '../../../src/contract/webhook.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { delivered, useGithub } from '../../support/providers/github.ts';
import { addItems } from './truth.ts';

const startGithub = useGithub();
const secret = 'a secret of the app';
const credential = { type: 'api_key', key: 'ghp_0123456789' } as const;
const repositories = ['octo/hello'];

async function react(delivery: Delivery, config: unknown = { repositories }): Promise<Reaction> {
  const { webhook } = github({ webhookSecret: secret });
  if (!webhook?.react) throw new Error('no webhook');
  expect(webhook.verify(delivery, secret, 0)).toBe(true);
  return webhook.react(delivery, { id: 'c', config });
}

const event = (name: string, body: object, repository = 'Octo/Hello') =>
  delivered(name, { repository: { id: 1, full_name: repository }, ...body }, secret);

describe('github webhook', () => {
  it('github: accepts only deliveries signed with the secret', () => {
    const { webhook } = github({ webhookSecret: secret });
    const delivery = delivered('push', { a: 1 }, secret);
    expect(webhook?.secret).toBe(secret);
    expect(webhook?.verify(delivery, secret, 0)).toBe(true);
    expect(webhook?.verify(delivery, 'another', 0)).toBe(false);
    expect(webhook?.verify({ ...delivery, body: Buffer.from('{"a":2}') }, secret, 0)).toBe(false);
    expect(webhook?.verify({ ...delivery, headers: {} }, secret, 0)).toBe(false);
  });

  it('github: webhook signals have the same dedupe key and payload as polled ones', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 1);
    const connection = connectInMemory(github({ baseUrl: server.url }), {
      credential,
      config: { repositories },
    });
    await connection.sync();
    const item = (resource: keyof typeof repository.items) => [...repository.items[resource].values()][0];
    const sent: Signal[] = [];
    for (const [name, property, resource] of [
      ['issues', 'issue', 'issues'],
      ['pull_request', 'pull_request', 'pull_requests'],
      ['issue_comment', 'comment', 'issue_comments'],
      ['pull_request_review_comment', 'comment', 'review_comments'],
      ['release', 'release', 'releases'],
    ] as const) {
      // Deliveries contain more fields than lists.
      const body = { ...item(resource), extra: true, changed_files: 3, author_association: 'OWNER' };
      const { sync, signals } = await react(event(name, { action: 'created', [property]: body }));
      expect(sync).not.toBe(false);
      sent.push(...(signals ?? []));
    }
    const polled = connection.signals.filter(({ kind }) => !kind.startsWith('commit'));
    expect(sent.map(({ dedupeKey }) => dedupeKey)).toEqual(polled.map(({ dedupeKey }) => dedupeKey));
    expect(sent.map(({ payload }) => payload)).toEqual(polled.map(({ payload }) => payload));
    expect(sent.map(({ kind }) => kind)).toEqual(polled.map(({ kind }) => kind));
  });

  it('github: webhooks emit signals for deleted and transferred issues', async () => {
    const server = await startGithub();
    const issue = server.repository('octo/hello').openIssue();
    const { signals } = await react(event('issues', { action: 'deleted', issue }));
    expect(signals).toMatchObject([{ kind: 'issue.deleted', dedupeKey: `issue/${issue.id}@deleted` }]);
    const moved = await react(event('issues', { action: 'transferred', issue }));
    expect(moved.signals).toMatchObject([{ kind: 'issue.transferred' }]);
  });

  it('github: action edited emits release.updated, action published emits release.published', async () => {
    const server = await startGithub();
    const release = server.repository('octo/hello').release();
    const kindOf = async (action: string) =>
      (await react(event('release', { action, release }))).signals?.[0]?.kind;
    expect(await kindOf('edited')).toBe('release.updated');
    expect(await kindOf('published')).toBe('release.published');
  });

  it('github: a push triggers a sync; a ping, other repositories and unread resources do not', async () => {
    const server = await startGithub();
    const issue = server.repository('octo/hello').openIssue();
    expect(await react(event('push', { ref: 'refs/heads/main' }))).toEqual({});
    expect(await react(event('ping', { zen: 'Keep it logically awesome.' }))).toEqual({ sync: false });
    expect(await react(event('issues', { action: 'opened', issue }, 'octo/other'))).toEqual({ sync: false });
    const config = { repositories, resources: ['releases'] };
    expect(await react(event('issues', { action: 'opened', issue }), config)).toEqual({ sync: false });
  });

  it('github: unknown or malformed deliveries trigger a sync without error', async () => {
    expect(await react(event('something_new', {}))).toEqual({});
    expect(await react(event('issues', { action: 'opened', issue: { id: 'no number' } }))).toEqual({});
    expect(await react(delivered('issues', [1, 2], secret))).toEqual({});
    expect(await react(delivered('issues', 'text', secret), { repositories: 'wrong' })).toEqual({});
    const form = new URLSearchParams({
      payload: JSON.stringify({ repository: { full_name: 'octo/other' } }),
    });
    const { webhook } = github();
    const headers = { 'x-github-event': 'issues', 'content-type': 'application/x-www-form-urlencoded' };
    const delivery = { method: 'POST', headers, body: Buffer.from(String(form)) };
    expect(await webhook?.react?.(delivery, { id: 'c', config: { repositories } })).toEqual({ sync: false });
    const broken = { ...delivery, headers: { 'x-github-event': 'issues' } };
    expect(await webhook?.react?.(broken, { id: 'c', config: { repositories } })).toEqual({});
  });
});
