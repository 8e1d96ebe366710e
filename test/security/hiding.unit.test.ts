import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerpt, redactNamed } from '../../src/connector-kit/refusals.ts';
import { createSecretRedactor, secretTexts, withoutSecrets } from '../../src/values/redact.ts';

const secrets = fc
  .string({ minLength: 8, maxLength: 60, unit: 'binary' })
  .filter((text) => text.trim().length >= 8);

const encodings: Record<string, (secret: string) => string> = {
  'in plain text': (secret) => secret,
  'in JSON': (secret) => JSON.stringify({ a: [secret] }),
  'in a query': (secret) => `https://host/?a=${encodeURIComponent(Buffer.from(secret).toString())}`,
  'in a form': (secret) => new URLSearchParams({ a: secret }).toString(),
  'in base64': (secret) => Buffer.from(secret).toString('base64'),
  'in base64 for URLs': (secret) => Buffer.from(secret).toString('base64url'),
  'in hex': (secret) => Buffer.from(secret).toString('hex'),
};

describe('hiding: secrets are redacted', () => {
  it.each(Object.entries(encodings))('hiding: %s', (_, write) => {
    fc.assert(
      fc.property(secrets, fc.string(), fc.string(), (secret, before, after) => {
        const hidden = withoutSecrets(`${before}${write(secret)}${after}`, [secret]);
        const encoded = write(secret);
        expect(hidden).toContain('[hidden]');
        expect(hidden.length).toBeLessThan(before.length + encoded.length + after.length + '[hidden]'.length);
        expect(hidden.includes(secret) && !'[hidden]'.includes(secret)).toBe(false);
      }),
    );
  });

  it('hiding: a secret that contains another is redacted whole; short ones are kept', () => {
    expect(withoutSecrets('a token-and-more b token-a c', ['token-a', 'token-and-more'])).toBe(
      'a [hidden] b [hidden] c',
    );
    expect(withoutSecrets('yes and no', ['no', ''])).toBe('yes and no');
  });

  it('hiding: text without a secret is unchanged', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(withoutSecrets(text, ['a secret that is nowhere else'])).toBe(text);
      }),
    );
  });

  it('hiding: finds secrets by field name at any depth, with all nested values', () => {
    const config = {
      url: 'https://x',
      auth: { apiKey: 'one', nested: [{ password: 'two' }] },
      tokens: ['three', { a: 'four' }],
    };
    expect(secretTexts(config)).toEqual(['one', 'two', 'three', 'four']);
    expect(secretTexts({ a: { b: ['all'] }, c: 1, d: null }, true)).toEqual(['all']);
  });

  it('hiding: secrets added later are redacted from then on', () => {
    const redactor = createSecretRedactor(() => ['known before', undefined]);
    expect(redactor.hide('known before, added later')).toBe('[hidden], added later');
    redactor.add(['added later']);
    expect(redactor.hide('known before, added later')).toBe('[hidden], [hidden]');
  });

  it('hiding: secret fields of a response are redacted, other text is kept', () => {
    expect(redactNamed('{"error":"invalid token","access_token": "a\\"b","id":7}')).toBe(
      '{"error":"invalid token","access_token": "[hidden]","id":7}',
    );
    expect(redactNamed('error=no&refresh_token=abc&state=x')).toBe('error=no&refresh_token=[hidden]&state=x');
    expect(excerpt('The token has expired: ask again.')).toBe(': The token has expired: ask again.');
    expect(excerpt(`{"secret":"${'x'.repeat(500)}"}`)).toBe(': {"secret":"[hidden]"}');
  });

  it('hiding: redaction of long responses is fast', () => {
    for (const text of ['token'.repeat(800), '"token'.repeat(700), 'a-'.repeat(2000), '"'.repeat(4000)])
      expect(excerpt(text).length).toBeLessThan(300);
  });
});
