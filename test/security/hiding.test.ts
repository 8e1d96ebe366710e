import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerpt, withoutNamed } from '../../src/connector-kit/refusals.ts';
import { createSecrecy, secretTexts, withoutSecrets } from '../../src/values/redact.ts';

const secrets = fc
  .string({ minLength: 8, maxLength: 60, unit: 'binary' })
  .filter((text) => text.trim().length >= 8);

/** How programs write a text, apart from as it is. */
const written: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'in JSON': (secret) => JSON.stringify({ a: [secret] }),
  'in a query': (secret) => `https://host/?a=${encodeURIComponent(Buffer.from(secret).toString())}`,
  'in a form': (secret) => new URLSearchParams({ a: secret }).toString(),
  'in base64': (secret) => Buffer.from(secret).toString('base64'),
  'in base64 for URLs': (secret) => Buffer.from(secret).toString('base64url'),
  'in hex': (secret) => Buffer.from(secret).toString('hex'),
};

describe('hiding: a secret is taken out of a text', () => {
  it.each(Object.entries(written))('hiding: %s', (_, write) => {
    fc.assert(
      fc.property(secrets, fc.string(), fc.string(), (secret, before, after) => {
        const hidden = withoutSecrets(`${before}${write(secret)}${after}`, [secret]);
        const told = write(secret);
        expect(hidden).toContain('[hidden]');
        expect(hidden.length).toBeLessThan(before.length + told.length + after.length + '[hidden]'.length);
        expect(hidden.includes(secret) && !'[hidden]'.includes(secret)).toBe(false);
      }),
    );
  });

  it('hiding: one that contains another is hidden whole, and short ones are left', () => {
    expect(withoutSecrets('a token-and-more b token-a c', ['token-a', 'token-and-more'])).toBe(
      'a [hidden] b [hidden] c',
    );
    expect(withoutSecrets('yes and no', ['no', ''])).toBe('yes and no');
  });

  it('hiding: what has nothing of it stays as it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(withoutSecrets(text, ['a secret that is nowhere else'])).toBe(text);
      }),
    );
  });

  it('hiding: secrets are found by their names, however deep, and all of what lies within', () => {
    const config = {
      url: 'https://x',
      auth: { apiKey: 'one', nested: [{ password: 'two' }] },
      tokens: ['three', { a: 'four' }],
    };
    expect(secretTexts(config)).toEqual(['one', 'two', 'three', 'four']);
    expect(secretTexts({ a: { b: ['all'] }, c: 1, d: null }, true)).toEqual(['all']);
  });

  it('hiding: what is confided later counts from then on', () => {
    const secrecy = createSecrecy(() => ['known before', undefined]);
    expect(secrecy.hide('known before, told later')).toBe('[hidden], told later');
    secrecy.add(['told later']);
    expect(secrecy.hide('known before, told later')).toBe('[hidden], [hidden]');
  });

  it('hiding: what an answer calls a secret is not repeated, and what it says otherwise is', () => {
    expect(withoutNamed('{"error":"invalid token","access_token": "a\\"b","id":7}')).toBe(
      '{"error":"invalid token","access_token": "[hidden]","id":7}',
    );
    expect(withoutNamed('error=no&refresh_token=abc&state=x')).toBe(
      'error=no&refresh_token=[hidden]&state=x',
    );
    expect(excerpt('The token has expired: ask again.')).toBe(': The token has expired: ask again.');
    expect(excerpt(`{"secret":"${'x'.repeat(500)}"}`)).toBe(': {"secret":"[hidden]"}');
  });

  it('hiding: no answer can keep the search busy', () => {
    for (const text of ['token'.repeat(800), '"token'.repeat(700), 'a-'.repeat(2000), '"'.repeat(4000)])
      expect(excerpt(text).length).toBeLessThan(300);
  });
});
