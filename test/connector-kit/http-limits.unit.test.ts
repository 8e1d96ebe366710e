import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer, createHttp, createValidators, optional } from '../../src/connector-kit/index.ts';
import type { Budget, BudgetNews, Budgets } from '../../src/contract/budget.ts';
import { memoryContext } from '../../src/testing/context.ts';
import { serve } from '../support/providers/local-server.ts';

const hour: Budget = { name: 'core', per: 'credential', limit: 5000, perSeconds: 3600 };
const minute: Budget = { name: 'points', per: 'credential', limit: 900, perSeconds: 60 };

function createClient(baseUrl: string, key?: string) {
  const freed: boolean[] = [];
  const learned: [string, BudgetNews][] = [];
  const budgets: Budgets = {
    take: async () => ({ settle: ({ free = false } = {}) => void freed.push(free) }),
    learn: ({ name }, news) => void learned.push([name, news]),
  };
  const credential = key === undefined ? undefined : ({ type: 'api_key', key } as const);
  const http = createHttp(memoryContext({ credential, budgets }), {
    baseUrl,
    authorize: optional(bearer()),
    budgets: [{ budget: hour }, { budget: minute }],
  });
  return { http, freed, learned };
}

describe('http clock', () => {
  it('kit: retries and timeouts wait on the clock of the context', async () => {
    const url = await serve((_request, response) => response.writeHead(500).end());
    const sleeps: number[] = [];
    const clock = { sleep: async (ms: number) => void sleeps.push(ms) };
    await expect(createHttp(memoryContext({ clock }), { baseUrl: url }).get('/')).rejects.toThrow();
    // A timeout of 30 s that is over at once fails each of the three attempts.
    expect(sleeps).toEqual([30_000, 250, 30_000, 1000, 30_000]);
  });
});

describe('http limits', () => {
  it('kit: a 304 response is free with a credential and counts without one', async () => {
    const url = await serve((_request, response) => response.writeHead(304).end());
    for (const [key, isFree] of [
      ['an-api-key', true],
      [undefined, false],
    ] as const) {
      const { http, freed } = createClient(url, key);
      await http.getIfChanged('/', { validators: createValidators(undefined) });
      expect(freed).toEqual([isFree]);
    }
  });

  it.each<[string, number, Record<string, string>, [string, BudgetNews][]]>([
    [
      'a refusal with hourly quota left limits the minute budget',
      403,
      { 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': '900', 'retry-after': '30' },
      [
        ['core', { limit: undefined, remaining: 4000, resetsInSeconds: 900 }],
        ['points', { remaining: 0, resetsInSeconds: 30 }],
      ],
    ],
    [
      'a refusal with the hourly quota used up limits the hourly budget',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '900' },
      [['core', { limit: undefined, remaining: 0, resetsInSeconds: 900 }]],
    ],
    [
      'a refusal without headers limits the minute budget for 60 s',
      429,
      {},
      [['points', { remaining: 0, resetsInSeconds: 60 }]],
    ],
    ['a permission error limits no budget', 403, {}, []],
  ])('kit: %s', async (_, status, headers, expected) => {
    const url = await serve((_request, response) => response.writeHead(status, headers).end('{}'));
    const { http, learned } = createClient(url, 'an-api-key');
    await expect(http.get('/')).rejects.toThrow(String(status));
    expect(learned).toEqual(expected);
  });

  it('kit: the ETag of a response that fails validation is not stored', async () => {
    const url = await serve((_request, response) => response.writeHead(200, { etag: '"1"' }).end('{"a":1}'));
    const { http } = createClient(url, 'an-api-key');
    const validators = createValidators(undefined);
    const schema = z.object({ a: z.string() });
    await expect(http.getIfChanged('/', { validators, schema })).rejects.toThrow(/unexpected response body/);
    expect(validators.toCursor()).toBeUndefined();
  });
});
