import { describe, expect, it } from 'vitest';
import { CursorExpiredError, createHttp, nextLink, syncStreams } from '../../src/kit/index.ts';
import { memoryContext } from '../../src/testing/index.ts';

describe('kit: edges', () => {
  it('kit: a next page that is said to be empty is none', () => {
    const link = (text: string) => nextLink(new Headers({ link: text }));
    expect(link('<https://x.example/?c=1>; rel="next"; results="true"; cursor="1"')).toBe(
      'https://x.example/?c=1',
    );
    expect(
      link(
        '<https://x.example/?c=0>; rel="previous"; results="true", <https://x.example/?c=1>; rel="next"; results="false"',
      ),
    ).toBeUndefined();
    expect(link('<https://x.example/?results=false>; rel=next')).toBe('https://x.example/?results=false');
  });

  it('kit: a colon in the first segment of a path is no scheme', async () => {
    const asked: string[] = [];
    const fetch = (async (url: string) => {
      asked.push(url);
      return new Response('{}');
    }) as unknown as typeof globalThis.fetch;
    await createHttp(memoryContext({ fetch }), { baseUrl: 'https://x.example/v1' }).get('/things:search');
    expect(asked).toEqual(['https://x.example/v1/things:search']);
  });

  it('kit: a stream whose cursors always expire starts from the beginning once in a run, and the others are read', async () => {
    let starts = 0;
    const result = await syncStreams(
      memoryContext() as never,
      ['expiring', 'calm'],
      async (name, cursor: number | undefined) => {
        if (name === 'calm') return { signals: [], nextCursor: 1 };
        if (cursor !== undefined) throw new CursorExpiredError();
        starts++;
        return { signals: [], nextCursor: 1, hasMore: true };
      },
    );
    expect(starts).toBe(2);
    expect(result).toMatchObject({ nextCursor: { streams: { calm: 1 } } });
    expect(result.hasMore).toBeUndefined();
  });
});
