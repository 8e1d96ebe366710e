import { describe, expect, it } from 'vitest';
import { createValidators, validatorsCursor } from '../../src/connector-kit/index.ts';
import type { Credential } from '../../src/contract/credential.ts';

const url = (path: string) => new URL(path, 'https://a.test');
const credential = (id: string, generation = 1): Credential => ({
  id,
  generation,
  type: 'api_key',
  key: 'k',
});
const tag = (value: string) => new Headers({ etag: value });

describe('validators', () => {
  it('kit: an ETag is sent only for the URL it came from', () => {
    const validators = createValidators(undefined);
    validators.keep(url('/a?page=1'), undefined, tag('W/"one"'));
    const restored = createValidators(
      validatorsCursor.parse(JSON.parse(JSON.stringify(validators.toCursor()))),
    );
    expect(restored.headersFor(url('/a?page=1'), undefined)).toEqual({ 'if-none-match': 'W/"one"' });
    expect(restored.headersFor(url('/a?page=2'), undefined)).toEqual({});
  });

  it('kit: Last-Modified is used only if the response is at least one second newer', () => {
    const validators = createValidators(undefined);
    const keep = (date: string) =>
      validators.keep(
        url('/'),
        undefined,
        new Headers({ 'last-modified': 'Mon, 02 Mar 2026 09:00:00 GMT', date }),
      );
    for (const unsettled of ['Mon, 02 Mar 2026 09:00:00 GMT', '', 'yesterday']) {
      keep(unsettled);
      expect(validators.toCursor()).toBeUndefined();
    }
    keep('Mon, 02 Mar 2026 09:00:01 GMT');
    expect(validators.headersFor(url('/'), undefined)).toEqual({
      'if-modified-since': 'Mon, 02 Mar 2026 09:00:00 GMT',
    });
  });

  it('kit: ETags are bound to the credential and its generation', () => {
    const validators = createValidators(undefined);
    validators.keep(url('/a'), credential('one'), tag('"1"'));
    expect(validators.headersFor(url('/a'), credential('one'))).not.toEqual({});
    expect(validators.headersFor(url('/a'), credential('one', 2))).toEqual({});
    expect(validators.headersFor(url('/a'), credential('two'))).toEqual({});
    expect(validators.headersFor(url('/a'), undefined)).toEqual({});
    expect(JSON.stringify(validators.toCursor())).not.toContain('one');
    // Another credential discards all stored tags.
    validators.keep(url('/b'), credential('two'), tag('"2"'));
    expect(validators.headersFor(url('/a'), credential('one'))).toEqual({});
    expect(validators.headersFor(url('/b'), credential('two'))).not.toEqual({});
  });

  it('kit: a response without an ETag clears the stored one; length and count are limited', () => {
    const validators = createValidators(undefined);
    validators.keep(url('/a'), undefined, tag('"1"'));
    validators.keep(url('/a'), undefined, new Headers());
    expect(validators.toCursor()).toBeUndefined();
    validators.keep(url('/a'), undefined, tag(`"${'x'.repeat(300)}"`));
    expect(validators.toCursor()).toBeUndefined();
    for (let i = 0; i < 250; i++) validators.keep(url(`/${i}`), undefined, tag(`"${i}"`));
    expect(Object.keys(validators.toCursor()?.tags ?? {})).toHaveLength(200);
    expect(validators.headersFor(url('/249'), undefined)).toEqual({ 'if-none-match': '"249"' });
    expect(validators.headersFor(url('/0'), undefined)).toEqual({});
  });
});
