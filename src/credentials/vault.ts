import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyForm, parseKeys } from '../config/credential-keys.ts';
import { invalidArgument, SynclineError } from '../contract/errors.ts';
import type { Sealed } from '../store/sealed.ts';

export interface Vault {
  readonly keyId: string | undefined;
  /** `context` names the row: `credentials/<tenant>/<id>`. */
  seal(context: string, value: unknown): Sealed;
  open(context: string, row: Sealed): unknown;
}

const cipher = 'aes-256-gcm';
/** Random nonces allow 2^32 encryptions per key. */
const nonceBytes = 12;
const tagBytes = 16;

/** The row name is authenticated (AAD): a ciphertext decrypts in no other row. */
export function createVault(texts: readonly string[]): Vault {
  const keys = parseKeys(texts);
  if (!keys)
    throw invalidArgument({ field: 'SYNCLINE_CREDENTIALS_KEYS', expected: keyForm }, 'CONFIG_INVALID');
  const [first] = keys;
  const byId = new Map(keys.map(({ id, key }) => [id, key]));

  return {
    keyId: first?.id,

    seal(context, value) {
      if (!first) throw noKey();
      const nonce = randomBytes(nonceBytes);
      const sealing = createCipheriv(cipher, first.key, nonce).setAAD(Buffer.from(context));
      const text = Buffer.concat([sealing.update(JSON.stringify(value), 'utf8'), sealing.final()]);
      return { keyId: first.id, sealed: Buffer.concat([nonce, text, sealing.getAuthTag()]) };
    },

    open(context, { keyId, sealed }) {
      const key = byId.get(keyId);
      if (!key) throw unknownKey(keyId);
      if (sealed.length < nonceBytes + tagBytes) throw unopened(context, keyId);
      const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes))
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(-tagBytes));
      try {
        const text = [opening.update(sealed.subarray(nonceBytes, -tagBytes)), opening.final()];
        return JSON.parse(Buffer.concat(text).toString()) as unknown;
      } catch {
        // A parse error quotes the secret.
        throw unopened(context, keyId);
      }
    },
  };
}

const noKey = () =>
  new SynclineError('CONFLICT', 'No encryption key is configured.', {
    hint: 'Create one with `syncline credentials keygen` and set SYNCLINE_CREDENTIALS_KEYS in every process.',
  });

/** The data is not damaged. */
const unknownKey = (keyId: string) =>
  new SynclineError(
    'CONFIG_INVALID',
    `A credential is encrypted with key "${keyId}", which is not configured here.`,
    {
      hint:
        'Add that key to SYNCLINE_CREDENTIALS_KEYS. Remove keys only after `syncline credentials ' +
        'rotate`.',
    },
  );

const unopened = (context: string, keyId: string) =>
  new SynclineError('CONFLICT', `${context} cannot be decrypted with key "${keyId}".`, {
    hint:
      'It was modified or moved outside Syncline, or the id belonged to another key. Replace the ' +
      'credential.',
  });
