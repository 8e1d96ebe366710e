export interface CredentialKey {
  id: string;
  key: Buffer;
}

/** Completes "it must be …". */
export const keyForm =
  'a list of keys with unique ids, each an id, a colon and 32 bytes in base64, in the environment separated ' +
  'by commas; `syncline credentials keygen` generates one';

const keyPattern = /^([A-Za-z\d_-]{1,32}):([A-Za-z\d+/_-]{43}=?)$/;

export function parseKeys(texts: readonly string[]): CredentialKey[] | undefined {
  const keys = texts.flatMap((text) => {
    const [, id, base64] = keyPattern.exec(text) ?? [];
    return id === undefined || base64 === undefined ? [] : [{ id, key: Buffer.from(base64, 'base64') }];
  });
  const isValid = keys.length === texts.length && keys.every(({ key }) => key.length === 32);
  return isValid && new Set(keys.map(({ id }) => id)).size === keys.length ? keys : undefined;
}

/** Shows key ids only; masks unparsable input. */
export function maskKeys(value: unknown): string {
  const keys = Array.isArray(value) && value.every((item) => typeof item === 'string') && parseKeys(value);
  return keys ? JSON.stringify(keys.map(({ id }) => `${id}:***`)) : '(hidden)';
}
