import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyForm, parseKeys } from '../config/credential-keys.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Sealed } from '../store/sealed.ts';

export interface Vault {
  /** The id of the key that encrypts; undefined where none is configured. */
  readonly keyId: string | undefined;
  /** Encrypts a JSON value for one row, which `context` names: `credentials/<tenant>/<id>`. */
  seal(context: string, value: unknown): Sealed;
  /** Decrypts what was sealed for the same row. */
  open(context: string, row: Sealed): unknown;
}

const cipher = 'aes-256-gcm';
/** What GCM is made for. A key may seal 2^32 values with random ones before two of them could be feared to be the same. */
const nonceBytes = 12;
const tagBytes = 16;

/**
 * AES-256-GCM. The row's name is authenticated with the text, so that a text which somebody moved to another row, or to
 * another tenant, does not open there.
 */
export function createVault(texts: readonly string[]): Vault {
  const keys = parseKeys(texts);
  if (!keys)
    throw new SynclineError(
      'CONFIG_INVALID',
      `SYNCLINE_CREDENTIALS_KEYS is (hidden); it must be ${keyForm}.`,
    );
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
        // Without the cause: what a failed parse quotes would be the secret.
        throw unopened(context, keyId);
      }
    },
  };
}

const noKey = () =>
  new SynclineError('CONFLICT', 'No key is configured that could encrypt a credential.', {
    hint: 'Make one with `syncline credentials keygen`, and set SYNCLINE_CREDENTIALS_KEYS to it in every process.',
  });

/** This process's configuration is to blame, and not what is stored. */
const unknownKey = (keyId: string) =>
  new SynclineError(
    'CONFIG_INVALID',
    `A credential is encrypted with key "${keyId}", which is not configured here.`,
    {
      hint: 'Add that key to SYNCLINE_CREDENTIALS_KEYS. Keys may be removed once `syncline credentials rotate` has run.',
    },
  );

const unopened = (context: string, keyId: string) =>
  new SynclineError('CONFLICT', `What is stored as ${context} does not open with key "${keyId}".`, {
    hint: 'It was changed or moved outside of Syncline, or there was another key of that id. Replace the credential.',
  });
