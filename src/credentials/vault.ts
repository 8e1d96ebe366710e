import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { SynclineError } from '../errors.ts';

/** What is stored of something secret: which key encrypted it, and nonce, text and tag together. */
export interface Sealed {
  keyId: string;
  sealed: Buffer;
}

/** Encrypts what is stored. What was sealed for one context opens in no other. */
export interface Vault {
  seal(context: string, value: unknown): Sealed;
  open(context: string, row: Sealed): unknown;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Keys as `id:base64`; the first encrypts, all of them decrypt. */
export function createVault(keys: readonly string[]): Vault {
  const byId = new Map(keys.map(parseKey));
  const [first] = byId;
  return {
    seal(context, value) {
      if (!first)
        throw new SynclineError('CONFLICT', 'Nothing secret can be stored: there is no key to encrypt it.', {
          hint: 'Set SYNCLINE_CREDENTIALS_KEYS to a key such as main:$(openssl rand -base64 32).',
        });
      const [keyId, key] = first;
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
      return { keyId, sealed: Buffer.concat([nonce, text, cipher.getAuthTag()]) };
    },
    open(context, { keyId, sealed }) {
      const key = byId.get(keyId);
      if (!key)
        throw new SynclineError('CONFLICT', `The key "${keyId}" is not configured.`, {
          hint: 'Add it to SYNCLINE_CREDENTIALS_KEYS again.',
        });
      const end = sealed.length - tagBytes;
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes))
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(end));
      const text = Buffer.concat([decipher.update(sealed.subarray(nonceBytes, end)), decipher.final()]);
      return JSON.parse(text.toString()) as unknown;
    },
  };
}

function parseKey(text: string): [string, Buffer] {
  const at = text.indexOf(':');
  return [text.slice(0, at), Buffer.from(text.slice(at + 1), 'base64')];
}

/** Whether this is a key: a name, and 32 bytes in base64. */
export function isVaultKey(text: string): boolean {
  const [, encoded] = /^[\w-]{1,50}:([A-Za-z\d+/]{43}=)$/.exec(text) ?? [];
  return encoded !== undefined && Buffer.from(encoded, 'base64').length === 32;
}
