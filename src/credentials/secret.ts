import type { Credential, Secret } from '../contract/credential.ts';
import { PermanentError, SynclineError, TransientError } from '../contract/errors.ts';
import { type SealedRow, sealedOf } from '../store/credentials.ts';
import { invalid, requireOneOf, requireSmall } from '../values/arguments.ts';
import { isObject } from '../values/is-object.ts';
import type { Vault } from './vault.ts';

/** A credential that was read and decrypted. */
export interface Opened {
  row: SealedRow;
  secret: Secret;
}

export const contextOf = ({ tenantId, id }: { tenantId: string; id: string }) =>
  `credentials/${tenantId}/${id}`;

/** For a run. A process that lacks the key must not cost the connection its user; what was tampered with stays so. */
export function openSecret(vault: Vault, row: SealedRow): Opened {
  try {
    const context = contextOf({ tenantId: row.tenant_id, id: row.id });
    return { row, secret: vault.open(context, sealedOf(row)) as Secret };
  } catch (error) {
    if (!(error instanceof SynclineError)) throw error;
    const message = `${error.message} ${error.hint ?? ''}`.trim();
    throw error.code === 'CONFIG_INVALID' ? new TransientError(message) : new PermanentError(message);
  }
}

/** What a connector gets to see of it. */
export function toCredential({ row, secret }: Opened): Credential {
  const common = { id: row.id, generation: row.generation };
  if (secret.type !== 'oauth2') return { ...common, ...secret };
  const { type, accessToken } = secret;
  return { ...common, type, accessToken, expiresAt: row.expires_at ?? undefined };
}

export const secretTypes = ['api_key', 'basic', 'oauth2', 'custom'] as const;

/** Tokens with all their claims are a few kilobytes, a private key too. */
const maxBytes = 64 * 1024;

/** What callers hand in, with nothing else beside it. Errors name the field and never its value. */
export function checkedSecret(secret: unknown): Secret {
  const given = (typeof secret === 'object' && secret !== null ? secret : {}) as Record<string, unknown>;
  requireOneOf('secret.type', given['type'], secretTypes);
  requireSmall('secret', given, maxBytes);
  const type = given['type'] as Secret['type'];
  switch (type) {
    case 'api_key':
      return { type, key: text(given, 'key') };
    case 'basic':
      return { type, username: text(given, 'username'), password: text(given, 'password', '') };
    case 'custom':
      return { type, fields: checkedFields(given['fields']) };
    case 'oauth2':
      return {
        type,
        accessToken: text(given, 'accessToken'),
        ...(isGiven(given['refreshToken']) && { refreshToken: text(given, 'refreshToken') }),
        ...(isGiven(given['expiresAt']) && { expiresAt: instant(given['expiresAt']) }),
        ...(isGiven(given['scope']) && { scope: text(given, 'scope') }),
      };
  }
}

export function checkedFields(fields: unknown): Record<string, unknown> {
  if (!isObject(fields)) throw invalid('secret.fields is not right; it must be an object.');
  requireSmall('secret.fields', fields, maxBytes);
  return fields;
}

const isGiven = (value: unknown) => value !== undefined && value !== null;

function text(given: Record<string, unknown>, name: string, otherwise?: string): string {
  const value = given[name] ?? otherwise;
  if (typeof value !== 'string' || (value.trim() === '' && otherwise === undefined))
    throw invalid(`secret.${name} is ${value === undefined ? 'missing' : 'not right'}; it must be text.`);
  return value;
}

function instant(value: unknown): string {
  const ms =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  if (!Number.isFinite(ms))
    throw invalid('secret.expiresAt is not right; it must be a time such as 2025-01-01T12:00:00Z.');
  return new Date(ms).toISOString();
}

export const expiryOf = (secret: Secret): Date | null =>
  secret.type === 'oauth2' && secret.expiresAt !== undefined ? new Date(secret.expiresAt) : null;
