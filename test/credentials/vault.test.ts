import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { createVault } from '../../src/credentials/vault.ts';
import { newKey } from './handles.ts';

const secret = { type: 'api_key', key: 'nobody may read this' };
const here = 'credentials/tenant/row';

describe('vault: what is sealed opens where it belongs, and nowhere else', () => {
  it('vault: what was sealed comes back, sealed differently each time, and is not readable', () => {
    const vault = createVault([newKey()]);
    const [one, two] = [vault.seal(here, secret), vault.seal(here, secret)];
    expect(vault.open(here, one)).toEqual(secret);
    expect(one.sealed.equals(two.sealed)).toBe(false);
    expect(one.sealed.toString('latin1')).not.toContain('nobody');
    expect(one.keyId).toBe('k1');
  });

  it('vault: a text that was moved to another row, tenant or table does not open there', () => {
    const vault = createVault([newKey()]);
    const row = vault.seal(here, secret);
    for (const elsewhere of ['credentials/tenant/other', 'credentials/other/row', 'webhooks/tenant/row', ''])
      expect(() => vault.open(elsewhere, row)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
  });

  it('vault: a flipped bit anywhere, or a missing piece, does not open', () => {
    const vault = createVault([newKey()]);
    const { keyId, sealed } = vault.seal(here, secret);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      expect(() => vault.open(here, { keyId, sealed: changed }), `byte ${at}`).toThrow('does not open');
    }
    for (const length of [0, 5, 27, sealed.length - 1])
      expect(() => vault.open(here, { keyId, sealed: sealed.subarray(0, length) })).toThrow('does not open');
  });

  it('vault: the first key encrypts, all decrypt, and one that is not there is named with the remedy', () => {
    const [old, young] = [newKey('old'), newKey('young')];
    const row = createVault([old]).seal(here, secret);
    const both = createVault([young, old]);
    expect(both.open(here, row)).toEqual(secret);
    expect(both.seal(here, secret).keyId).toBe('young');
    expect(() => createVault([young]).open(here, row)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: 'A credential is encrypted with key "old", which is not configured here.',
        hint: expect.stringContaining('SYNCLINE_CREDENTIALS_KEYS'),
      }),
    );
    // Another key of the same id.
    expect(() => createVault([newKey('old')]).open(here, row)).toThrow('does not open with key "old"');
  });

  it('vault: without a key nothing is sealed, and the remedy is named', () => {
    expect(() => createVault([]).seal(here, secret)).toThrow(
      expect.objectContaining({
        code: 'CONFLICT',
        hint: expect.stringMatching(/syncline credentials keygen.*SYNCLINE_CREDENTIALS_KEYS/),
      }),
    );
  });

  it('vault: the setting is masked, and what is no key is refused by name, without its value', () => {
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
      expect(message).toMatch(
        /^SYNCLINE_CREDENTIALS_KEYS is \(hidden\); it must be .*syncline credentials keygen/,
      );
      for (const part of [short, one.slice(4), 'nonsense']) expect(message).not.toContain(part);
    }
  });
});
