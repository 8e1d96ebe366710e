import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentHash, versionKey } from '../../src/connector-kit/index.ts';

describe('keys', () => {
  it('kit: contentHash does not depend on key order', () => {
    const shuffled = (value: unknown): unknown =>
      typeof value !== 'object' || value === null
        ? value
        : Array.isArray(value)
          ? value.map(shuffled)
          : Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([key, inner]) => [key, shuffled(inner)]),
            );
    fc.assert(fc.property(fc.jsonValue(), (value) => contentHash(value) === contentHash(shuffled(value))));
  });

  it('kit: contentHash differs for different content', () => {
    const hashes = [
      { a: 1 },
      { a: '1' },
      { a: 2 },
      { b: 1 },
      [1],
      { a: [1, 2] },
      { a: [2, 1] },
      null,
      {},
      [],
    ].map(contentHash);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(contentHash(undefined)).toBe(contentHash(null));
  });

  it('kit: versionKey differs for two versions within one second', () => {
    const at = '2026-03-02T09:00:00Z';
    expect(versionKey('issue/1', at, { title: 'a' })).toBe(versionKey('issue/1', at, { title: 'a' }));
    expect(versionKey('issue/1', at, { title: 'a' })).not.toBe(versionKey('issue/1', at, { title: 'b' }));
    expect(versionKey('issue/1', at, {})).toMatch(/^issue\/1@2026-03-02T09:00:00Z#[\w-]{16}$/);
  });
});
