import { describe, expect, it } from 'vitest';
import { github } from '../../../src/connectors/index.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { type FakeGithub, useGithub } from '../../support/providers/github.ts';
import { expectTruth } from './truth.ts';

const startGithub = useGithub();
const credential = { type: 'api_key', key: 'ghp_0123456789' } as const;

const connect = (server: FakeGithub, config: object = {}) =>
  connectInMemory(github({ baseUrl: server.url }), {
    credential,
    config: { repositories: ['octo/hello'], ...config },
  });

const messages = ({ signals }: ReturnType<typeof connect>) =>
  signals.map(({ payload }) => (payload as { message: string }).message);

describe('github commits', () => {
  it('github: an empty repository (HTTP 409) yields no commits; later commits are found', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    const connection = connect(server, { resources: ['commits'] });
    expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded', stored: 0 });
    expect(server.requests[0]?.status).toBe(409);
    repository.commit();
    await connection.sync();
    expectTruth(connection.signals, repository, ['commits']);
  });

  it('github: finds late pushes of commits with old dates', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    const base = repository.commit({ message: 'base' });
    server.tick(86_400);
    repository.commit({ message: 'on main' });
    const connection = connect(server, { resources: ['commits'] });
    await connection.sync();

    // Merge a branch whose commits are older than the known ones.
    const side = repository.commit({
      branch: 'side',
      parents: [base],
      date: '2026-01-01T00:00:00Z',
      message: 'old 1',
    });
    const last = repository.commit({
      branch: 'side',
      parents: [side],
      date: '2025-01-01T00:00:00Z',
      message: 'old 2',
    });
    const head = repository.heads.get('main') ?? '';
    repository.commit({ parents: [head, last], message: 'merge' });
    await connection.sync();
    expectTruth(connection.signals, repository, ['commits']);
    expect(messages(connection).sort()).toEqual(['base', 'merge', 'old 1', 'old 2', 'on main']);
  });

  it('github: finds the commits of a forced push, also if the whole history was replaced', async () => {
    const server = await startGithub();
    server.maxPerPage = 2;
    const repository = server.repository('octo/hello');
    const base = repository.commit({ message: 'base' });
    repository.commit({ message: 'thrown away' });
    const connection = connect(server, { resources: ['commits'] });
    await connection.sync();
    repository.commit({ parents: [base], message: 'instead' });
    await connection.sync();
    expectTruth(connection.signals, repository, ['commits']);

    for (const [i, parents] of [[], undefined, undefined, undefined].entries())
      repository.commit({ message: `new history ${i}`, ...(parents && { parents }) });
    await connection.sync();
    expectTruth(connection.signals, repository, ['commits']);
    const countBefore = connection.signals.length;

    // The old head commit no longer exists.
    const oldHead = repository.heads.get('main') ?? '';
    repository.commits.delete(oldHead);
    repository.commit({ parents: [], message: 'once more' });
    const runs = await connection.sync();
    expect(runs.at(-1)?.outcome).toBe('succeeded');
    expect(connection.signals).toHaveLength(countBefore + 1);
  });

  it('github: commits pushed during a walk are found by the next one', async () => {
    const server = await startGithub();
    server.maxPerPage = 2;
    const repository = server.repository('octo/hello');
    for (let i = 0; i < 9; i++) repository.commit();
    server.beforeSend = (_path, n) => void (n % 2 === 0 && repository.commit({ message: `during ${n}` }));
    const connection = connect(server, { resources: ['commits'] });
    await connection.sync();
    server.beforeSend = undefined;
    await connection.sync();
    expectTruth(connection.signals, repository, ['commits']);
  });

  it('github: reads the configured branch and fails if it does not exist', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    repository.commit({ message: 'on main' });
    repository.commit({ branch: 'feature/one', parents: [], message: 'elsewhere' });
    const connection = connect(server, { resources: ['commits'], branch: 'feature/one' });
    await connection.sync();
    expect(messages(connection)).toEqual(['elsewhere']);
    const [run] = await connect(server, { resources: ['commits'], branch: 'nowhere' }).sync();
    expect(run).toMatchObject({ outcome: 'failed', error: { kind: 'permanent' } });
    expect(run?.error?.message).toContain('nowhere');
  });
});

describe('github releases', () => {
  it('github: emits drafted, published and updated releases', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    const { id } = repository.release({ draft: true, published_at: null, name: 'One' });
    repository.release({ name: 'Zero' });
    const connection = connect(server, { resources: ['releases'] });
    await connection.sync();
    server.tick(60);
    const published_at = new Date(server.nowMs).toISOString().replace('.000', '');
    repository.edit('releases', id, { draft: false, published_at });
    await connection.sync();
    server.tick(60);
    repository.edit('releases', id, { body: 'What is new' });
    await connection.sync();
    expect(connection.signals.map(({ kind, payload }) => [kind, (payload as { name: string }).name])).toEqual(
      [
        ['release.published', 'Zero'],
        ['release.drafted', 'One'],
        ['release.published', 'One'],
        ['release.updated', 'One'],
      ],
    );
    expectTruth(connection.signals, repository, ['releases']);
  });

  it('github: a changed download count emits no signal', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    const asset = { name: 'a.zip', size: 10, download_count: 1 };
    const { id } = repository.release({ assets: [asset] });
    const connection = connect(server, { resources: ['releases'] });
    await connection.sync();
    repository.edit('releases', id, { assets: [{ ...asset, download_count: 2 }] });
    const [run] = await connection.sync();
    expect(run).toMatchObject({ stored: 0, absorbed: 1 });
  });

  it('github: releases deleted during the walk do not hide others', async () => {
    for (let deleted = 0; deleted < 11; deleted++) {
      const server = await startGithub();
      server.maxPerPage = 3;
      const repository = server.repository('octo/hello');
      for (let i = 0; i < 11; i++) {
        repository.release();
        server.tick(1);
      }
      const ids = [...repository.items.releases.keys()];
      server.beforeSend = (_path, n) => void (n === 2 && repository.remove('releases', ids[deleted] ?? 0));
      const connection = connect(server, { resources: ['releases'] });
      await connection.sync();
      await connection.sync();
      expectTruth(connection.signals, repository, ['releases']);
    }
  });

  it('github: a release added and removed during the walk does not hide others', async () => {
    for (let added = 1; added <= 4; added++) {
      const server = await startGithub();
      server.maxPerPage = 3;
      const repository = server.repository('octo/hello');
      for (let i = 0; i < 11; i++) repository.release();
      let temporaryId = 0;
      server.beforeSend = (_path, n) => {
        if (n === added) temporaryId = repository.release().id;
        if (n === added + 2) repository.remove('releases', temporaryId);
      };
      const connection = connect(server, { resources: ['releases'] });
      await connection.sync();
      server.beforeSend = undefined;
      repository.remove('releases', temporaryId);
      await connection.sync();
      expectTruth(connection.signals, repository, ['releases']);
    }
  });

  it('github: finds changes on later release pages; unchanged pages return 304', async () => {
    const server = await startGithub();
    server.maxPerPage = 3;
    const repository = server.repository('octo/hello');
    for (let i = 0; i < 8; i++) repository.release();
    const connection = connect(server, { resources: ['releases'] });
    await connection.sync();
    const [first = 0, second = 0] = repository.items.releases.keys();
    repository.edit('releases', second, { body: 'What was new' });
    await connection.sync();
    expectTruth(connection.signals, repository, ['releases']);
    expect(connection.signals.at(-1)).toMatchObject({ kind: 'release.updated', payload: { id: second } });

    repository.remove('releases', first);
    await connection.sync();
    const before = server.requests.length;
    await connection.sync();
    expect(server.requests.slice(before).map(({ status }) => status)).toEqual([304, 304, 304]);
  });
});
