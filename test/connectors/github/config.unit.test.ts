import { describe, expect, it } from 'vitest';
import { github } from '../../../src/connectors/index.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { useGithub } from '../../support/providers/github.ts';

const startGithub = useGithub();
const problemWith = async (config: unknown) => {
  const connection = connectInMemory(github({ baseUrl: 'http://127.0.0.1:9' }), { config });
  const [run] = await connection.sync();
  expect(run).toMatchObject({ outcome: 'failed', error: { kind: 'permanent' } });
  return run?.error?.message;
};

describe('github config', () => {
  it.each([
    [{ repositories: ['https://github.com/octo/hello'] }, /repositories\.0: .*owner\/name.*without https/],
    [{ repositories: ['hello'] }, /"hello" is not of the form owner\/name/],
    [{ repositories: ['octo/..'] }, /owner\/name/],
    [{ repositories: ['octo/hello/../../user'] }, /owner\/name/],
    [{ repositories: ['octo/hello?x=1'] }, /owner\/name/],
    [{ repositories: [] }, /at least one repository/],
    [{}, /repositories: Set repositories/],
    [{ repositories: ['octo/hello', 'Octo/Hello'] }, /Octo\/Hello is listed twice/],
    [{ repositories: Array.from({ length: 101 }, (_, i) => `octo/r${i}`) }, /at most 100/],
    [{ repositories: ['octo/hello'], resources: ['wikis'] }, /"wikis" is not one of issues, pull_requests/],
    [{ repositories: ['octo/hello'], resources: [] }, /omit it to read all/],
    [{ repositories: ['octo/hello'], since: 'yesterday' }, /since: "yesterday" is not a date/],
    [{ repositories: ['octo/hello'], branch: '../../user' }, /branch: .*not a branch name/],
    [{ repositories: ['octo/hello'], branch: 'a b' }, /not a branch name/],
    [{ repositories: ['octo/hello'], repos: 1 }, /repos: unknown setting/],
  ])('github: config %j is rejected with a hint', async (config, problem) => {
    expect(await problemWith(config)).toMatch(problem);
  });

  it('github: 600 streams with names of maximum length fit into a cursor', async () => {
    const server = await startGithub();
    const repositories = Array.from(
      { length: 100 },
      (_, i) => `${'o'.repeat(39)}/${'r'.repeat(97)}${100 + i}`,
    );
    for (const name of repositories) server.repository(name);
    const validators = { by: 'x'.repeat(12), tags: { ['y'.repeat(12)]: `W/"${'z'.repeat(64)}"` } };
    const lists = ['issues', 'pull_requests', 'issue_comments', 'review_comments', 'commits', 'releases'];
    const streams = repositories.flatMap((name) =>
      lists.map((list) => [`${name} ${list}`, { since: '2026-03-01T00:00:00Z', validators }]),
    );
    const connection = connectInMemory(github({ baseUrl: server.url }), {
      credential: { type: 'api_key', key: 'ghp_0123456789' },
      config: { repositories },
      cursor: { streams: Object.fromEntries(streams) },
    });
    expect(await connection.run()).toMatchObject({ outcome: 'succeeded', hasMore: true, error: undefined });
    expect(Object.keys((connection.cursor as { streams: object }).streams)).toHaveLength(600);
  });

  it('github: OAuth URLs are derived from baseUrl', () => {
    const oauth2 = { clientId: 'id', clientSecret: 'secret' };
    expect(github({ oauth2 }).oauth2).toEqual({
      authorizationUrl: 'https://github.com/login/oauth/authorize',
      tokenUrl: 'https://github.com/login/oauth/access_token',
      scopes: ['repo'],
      ...oauth2,
      optional: true,
    });
    const own = github({ baseUrl: 'https://git.example.com/api/v3', provider: 'ghes', oauth2 });
    expect(own.provider).toBe('ghes');
    expect(own.oauth2?.tokenUrl).toBe('https://git.example.com/login/oauth/access_token');
    expect(github().oauth2).toBeUndefined();
  });
});
