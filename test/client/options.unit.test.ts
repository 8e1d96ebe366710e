import { describe, expect, it } from 'vitest';
import { type ClientOptions, createClient, SynclineError } from '../../src/client/index.ts';

const baseUrl = 'https://sync.example';

describe('client: options', () => {
  it.each<[string, unknown, { field: string; message: string }]>([
    ['no options', undefined, { field: 'options', message: 'options must be an object' }],
    ['no baseUrl', {}, { field: 'baseUrl', message: 'got "undefined".' }],
    ['a relative baseUrl', { baseUrl: '/sync' }, { field: 'baseUrl', message: 'got "/sync".' }],
    ['another protocol', { baseUrl: 'ftp://sync.example' }, { field: 'baseUrl', message: 'got one of ftp:' }],
    ['a query', { baseUrl: `${baseUrl}?a=1` }, { field: 'baseUrl', message: 'without user name, query' }],
    ['a password', { baseUrl: 'https://u:hush@x.example' }, { field: 'baseUrl', message: '//x.example.' }],
    ['an empty key', { baseUrl, apiKey: '' }, { field: 'apiKey', message: 'got empty text.' }],
    ['a key with a line break', { baseUrl, apiKey: 'hush\n' }, { field: 'apiKey', message: 'other text.' }],
    ['fetch that is no function', { baseUrl, fetch: 1 }, { field: 'fetch', message: 'must be a function' }],
    ['too many retries', { baseUrl, maxRetries: 11 }, { field: 'maxRetries', message: '0 to 10, got 11.' }],
    [
      'a negative wait',
      { baseUrl, maxRetryAfterSeconds: -1 },
      { field: 'maxRetryAfterSeconds', message: '-1' },
    ],
    [
      'an unknown option',
      { baseUrl, apikey: 'a' },
      { field: 'apikey', message: 'There is no option apikey.' },
    ],
  ])('client: rejects %s with field, value and fix', (_name, options, { field, message }) => {
    const create = () => createClient(options as ClientOptions);
    expect(create).toThrow(SynclineError);
    expect(create).toThrow(message);
    expect(create).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field }));
    expect(create).not.toThrow('hush');
  });
});

/** `npm run typecheck` checks these calls; they are never made. */
const calls = () => {
  const client = createClient({ baseUrl, apiKey: 'syn_a' });
  return [
    client.get('/v1/connections', { query: { status: 'active', limit: 10 } }),
    // @ts-expect-error: no such path
    client.get('/v1/connection'),
    // @ts-expect-error: no such method
    client.post('/v1/me'),
    // @ts-expect-error: the id is missing
    client.get('/v1/connections/{id}'),
    // @ts-expect-error: no such status
    client.get('/v1/connections', { query: { status: 'activ' } }),
    // @ts-expect-error: no such parameter
    client.get('/v1/connections', { query: { state: 'active' } }),
    // @ts-expect-error: the body is missing
    client.post('/v1/tenants'),
    // @ts-expect-error: no such field
    client.post('/v1/tenants', { body: { name: 'Northwind', nam: 1 } }),
    // @ts-expect-error: not a list
    client.items('/v1/me'),
    // @ts-expect-error: the feed has no last page
    client.pages('/v1/signals/feed'),
    // @ts-expect-error: times are text
    client.get('/v1/me').then(({ scope }): number => scope),
    client.feed({ consumer: 'search-index' }).next(),
  ];
};
it('client: calls are typed', () => expect(typeof calls).toBe('function'));
