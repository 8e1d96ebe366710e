import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { readableUrl } from '../../src/connector-kit/readable-url.ts';
import { excerpt } from '../../src/connector-kit/refusals.ts';
import { environmentWithoutSecrets } from '../../src/dev/environment.ts';
import type { Problem } from '../../src/http/problem.ts';
import { refuseInvalid } from '../../src/http/validation.ts';
import {
  createSecretRedactor,
  isPageToken,
  isSecretName,
  isSecretParameter,
  redactNamed,
  secretTexts,
  withoutSecrets,
} from '../../src/values/redact.ts';

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
    expect(redactor.redact('known before, added later')).toBe('[hidden], added later');
    redactor.add(['added later']);
    expect(redactor.redact('known before, added later')).toBe('[hidden], [hidden]');
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

describe('hiding: one definition of secret names', () => {
  const anywhere = ['db_passwd', 'client_credential', 'set-cookie', 'api-key', 'signingKey', 'AccessKey'];
  const inParameters = [
    'key',
    'Ocp-Apim-Subscription-Key',
    'keyPem',
    'x-auth',
    'sig',
    'x_signature',
    'session_id',
  ];

  it.each(anywhere)('hiding: %s is a secret in every place', (name) => {
    expect([isSecretName(name), isSecretParameter(name)]).toEqual([true, true]);
  });

  it.each(inParameters)('hiding: %s is a secret in parameters and headers', (name) => {
    expect(isSecretParameter(name)).toBe(true);
  });

  it('hiding: ordinary fields are not secrets', () => {
    for (const name of ['key', 'sort_key', 'primaryKey', 'auth', 'signature', 'session'])
      expect(isSecretName(name)).toBe(false);
    for (const name of ['keyword', 'author', 'state', 'page']) expect(isSecretParameter(name)).toBe(false);
  });

  it('hiding: page and sync tokens are positions', () => {
    for (const name of ['page_token', 'nextSyncToken', 'continuation-token', 'deltaToken'])
      expect([isPageToken(name), isSecretName(name)]).toEqual([true, true]);
    expect(isPageToken('access_token')).toBe(false);
  });

  it('hiding: query parameters that only recordings knew are hidden in logged URLs', () => {
    const url = new URL('https://host/items?key=abc&sig=def&q=1');
    expect(readableUrl(url)).toBe('/items?key=[hidden]&sig=[hidden]&q=1');
  });

  it('hiding: a refused argument with a secret name is not echoed', () => {
    const data = { db_passwd: 'a', credential: 'b', keyPem: 'c', name: 'd' };
    const number = z.number();
    const { error } = z
      .object({ db_passwd: number, credential: number, keyPem: number, name: number })
      .safeParse(data);
    let shown: unknown[] = [];
    try {
      refuseInvalid({ target: 'json', data, success: false, error: error as z.ZodError });
    } catch (problem) {
      shown = (problem as Problem).toBody().errors?.map(({ field, value }) => [field, value]) ?? [];
    }
    expect(shown).toEqual([
      ['db_passwd', undefined],
      ['credential', undefined],
      ['keyPem', undefined],
      ['name', 'd'],
    ]);
  });

  it('hiding: child processes get no environment variable with the name of a key', () => {
    vi.stubEnv('MAIL_KEY', 'abc');
    try {
      expect(environmentWithoutSecrets()).not.toHaveProperty('MAIL_KEY');
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
