import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer, createHttp, createValidators, optional } from '../../src/connector-kit/index.ts';
import type { Budget, BudgetNews, Budgets } from '../../src/contract/budget.ts';
import { memoryContext } from '../../src/testing/context.ts';
import { serve } from '../support/providers/local-server.ts';

const hour: Budget = { name: 'core', per: 'credential', limit: 5000, perSeconds: 3600 };
const minute: Budget = { name: 'points', per: 'credential', limit: 900, perSeconds: 60 };

function asking(baseUrl: string, key?: string) {
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

describe('http limits', () => {
  it('kit: "nothing has changed" is free to those who are known, and costs strangers as much as any answer', async () => {
    const url = await serve((_request, response) => response.writeHead(304).end());
    for (const [key, isFree] of [
      ['a-key-of-somebody', true],
      [undefined, false],
    ] as const) {
      const { http, freed } = asking(url, key);
      await http.getIfChanged('/', { validators: createValidators(undefined) });
      expect(freed).toEqual([isFree]);
    }
  });

  it.each<[string, number, Record<string, string>, [string, BudgetNews][]]>([
    [
      'although the hour is not used up is a limit of the minute',
      403,
      { 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': '900', 'retry-after': '30' },
      [
        ['core', { limit: undefined, remaining: 4000, resetsInSeconds: 900 }],
        ['points', { remaining: 0, resetsInSeconds: 30 }],
      ],
    ],
    [
      'because the hour is used up is a limit of the hour',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '900' },
      [['core', { limit: undefined, remaining: 0, resetsInSeconds: 900 }]],
    ],
    [
      'that says nothing is a limit of the minute, for a minute',
      429,
      {},
      [['points', { remaining: 0, resetsInSeconds: 60 }]],
    ],
    ['for want of permission is no limit', 403, {}, []],
  ])('kit: a refusal %s', async (_, status, headers, wanted) => {
    const url = await serve((_request, response) => response.writeHead(status, headers).end('{}'));
    const { http, learned } = asking(url, 'a-key-of-somebody');
    await expect(http.get('/')).rejects.toThrow(String(status));
    expect(learned).toEqual(wanted);
  });

  it('kit: the tag of an answer that could not be understood is not kept', async () => {
    const url = await serve((_request, response) => response.writeHead(200, { etag: '"1"' }).end('{"a":1}'));
    const { http } = asking(url, 'a-key-of-somebody');
    const validators = createValidators(undefined);
    const schema = z.object({ a: z.string() });
    await expect(http.getIfChanged('/', { validators, schema })).rejects.toThrow(/not what was expected/);
    expect(validators.toCursor()).toBeUndefined();
  });
});
