import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { createVault } from '../../src/credentials/vault.ts';
import { newKey } from './handles.ts';

const secret = { type: 'api_key', key: 'hidden value' };
const location = 'credentials/tenant/row';

describe('vault: sealed values are bound to their row', () => {
  it('vault: seals with a random nonce, and open() returns the value', () => {
    const vault = createVault([newKey()]);
    const [first, second] = [vault.seal(location, secret), vault.seal(location, secret)];
    expect(vault.open(location, first)).toEqual(secret);
    expect(first.sealed.equals(second.sealed)).toBe(false);
    expect(first.sealed.toString('latin1')).not.toContain('hidden');
    expect(first.keyId).toBe('k1');
  });

  it('vault: a value moved to another row, tenant or table does not open', () => {
    const vault = createVault([newKey()]);
    const row = vault.seal(location, secret);
    for (const otherLocation of [
      'credentials/tenant/other',
      'credentials/other/row',
      'webhooks/tenant/row',
      '',
    ])
      expect(() => vault.open(otherLocation, row)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
  });

  it('vault: a value with a flipped bit or missing bytes does not open', () => {
    const vault = createVault([newKey()]);
    const { keyId, sealed } = vault.seal(location, secret);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      expect(() => vault.open(location, { keyId, sealed: changed }), `byte ${at}`).toThrow(
        'cannot be decrypted',
      );
    }
    for (const length of [0, 5, 27, sealed.length - 1])
      expect(() => vault.open(location, { keyId, sealed: sealed.subarray(0, length) })).toThrow(
        'cannot be decrypted',
      );
  });

  it('vault: the first key encrypts, all keys decrypt, and the error names a missing key', () => {
    const [old, current] = [newKey('old'), newKey('young')];
    const row = createVault([old]).seal(location, secret);
    const both = createVault([current, old]);
    expect(both.open(location, row)).toEqual(secret);
    expect(both.seal(location, secret).keyId).toBe('young');
    expect(() => createVault([current]).open(location, row)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: 'A credential is encrypted with key "old", which is not configured here.',
        hint: expect.stringContaining('SYNCLINE_CREDENTIALS_KEYS'),
      }),
    );
    // Another key with the same id.
    expect(() => createVault([newKey('old')]).open(location, row)).toThrow(
      'cannot be decrypted with key "old"',
    );
  });

  it('vault: seal() without a key fails with a hint', () => {
    expect(() => createVault([]).seal(location, secret)).toThrow(
      expect.objectContaining({
        code: 'CONFLICT',
        hint: expect.stringMatching(/syncline credentials keygen.*SYNCLINE_CREDENTIALS_KEYS/),
      }),
    );
  });

  it('vault: the setting is masked, and the error for an invalid key hides its value', () => {
    const [one, two] = [newKey('one'), newKey('two')];
    const load = (text: string) => loadConfig({ env: { SYNCLINE_CREDENTIALS_KEYS: text } });
    const { config, entries } = load(`${one}, ${two}`);
    expect(config.credentials.keys).toEqual([one, two]);
    expect(entries.find(({ path }) => path === 'credentials.keys')?.shown).toBe('["one:***","two:***"]');
    const short = Buffer.alloc(31, 7).toString('base64');
    for (const wrong of [
      'nonsense',
      `a:${short}`,
      `${one},${one}`,
      `${one} ${two}`,
      `:${one.slice(4)}`,
      `a b:${one.slice(4)}`,
    ]) {
      let message = '';
      try {
        load(wrong);
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message).toMatch(/^SYNCLINE_CREDENTIALS_KEYS must be .*syncline credentials keygen/);
      for (const part of [short, one.slice(4), 'nonsense']) expect(message).not.toContain(part);
    }
  });
});
