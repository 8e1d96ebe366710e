/** The keys that encrypt credentials, as they are written in a setting. */

export interface CredentialKey {
  id: string;
  /** 32 bytes. */
  key: Buffer;
}

/** What a key looks like, in words that finish the sentence "it must be …". */
export const keyForm =
  'a list of keys, each an id, a colon and 32 bytes in base64, no id twice, in the environment separated by commas; `syncline credentials keygen` makes one';

const written = /^([A-Za-z\d_-]{1,32}):([A-Za-z\d+/_-]{43}=?)$/;

/** Undefined where one of them is no key, or an id is there twice. */
export function parseKeys(texts: readonly string[]): CredentialKey[] | undefined {
  const keys = texts.flatMap((text) => {
    const [, id, base64] = written.exec(text) ?? [];
    return id === undefined || base64 === undefined ? [] : [{ id, key: Buffer.from(base64, 'base64') }];
  });
  const isWhole = keys.length === texts.length && keys.every(({ key }) => key.length === 32);
  return isWhole && new Set(keys.map(({ id }) => id)).size === keys.length ? keys : undefined;
}

/** Their ids; nothing of what is no key, since nobody knows where the secret stands in that. */
export function maskKeys(value: unknown): string {
  const keys = Array.isArray(value) && value.every((one) => typeof one === 'string') && parseKeys(value);
  return keys ? JSON.stringify(keys.map(({ id }) => `${id}:***`)) : '(hidden)';
}
