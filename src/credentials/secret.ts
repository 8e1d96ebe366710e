import { type Credential, type Secret, secretTypes } from '../contract/credential.ts';
import { invalidArgument, PermanentError, SynclineError, TransientError } from '../contract/errors.ts';
import { type SealedRow, sealedOf } from '../store/credentials.ts';
import { requireOneOf, requireSmall } from '../values/arguments.ts';
import { isObject } from '../values/is-object.ts';
import { maxSecretBytes } from '../values/limits.ts';
import type { Vault } from './vault.ts';

export interface Opened {
  row: SealedRow;
  secret: Secret;
}

export const contextOf = ({ tenantId, id }: { tenantId: string; id: string }) =>
  `credentials/${tenantId}/${id}`;

/** A missing key is transient (other processes may have it), damage permanent. */
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

/** No refresh token. */
export function toCredential({ row, secret }: Opened): Credential {
  const common = { id: row.id, generation: row.generation };
  if (secret.type !== 'oauth2') return { ...common, ...secret };
  const { type, accessToken } = secret;
  return { ...common, type, accessToken, expiresAt: row.expires_at ?? undefined };
}

/** Drops unknown fields. Errors name the field, never its value. */
export function checkedSecret(secret: unknown): Secret {
  const input = (typeof secret === 'object' && secret !== null ? secret : {}) as Record<string, unknown>;
  requireOneOf('secret.type', input['type'], secretTypes);
  requireSmall('secret', input, maxSecretBytes);
  const type = input['type'] as Secret['type'];
  switch (type) {
    case 'api_key':
      return { type, key: text(input, 'key') };
    case 'basic':
      return { type, username: text(input, 'username'), password: text(input, 'password', '') };
    case 'custom':
      return { type, fields: checkedFields(input['fields']) };
    case 'oauth2':
      return {
        type,
        accessToken: text(input, 'accessToken'),
        ...(isPresent(input['refreshToken']) && { refreshToken: text(input, 'refreshToken') }),
        ...(isPresent(input['expiresAt']) && { expiresAt: instant(input['expiresAt']) }),
        ...(isPresent(input['scope']) && { scope: text(input, 'scope') }),
      };
  }
}

export function checkedFields(fields: unknown): Record<string, unknown> {
  if (!isObject(fields)) throw invalidArgument({ field: 'secret.fields', expected: 'an object' });
  requireSmall('secret.fields', fields, maxSecretBytes);
  return fields;
}

const isPresent = (value: unknown) => value !== undefined && value !== null;

function text(input: Record<string, unknown>, name: string, fallback?: string): string {
  const value = input[name] ?? fallback;
  if (typeof value !== 'string' || (value.trim() === '' && fallback === undefined))
    throw invalidArgument({
      field: `secret.${name}`,
      expected: 'text',
      value: value === undefined ? 'nothing' : typeof value === 'string' ? 'blank text' : typeof value,
    });
  return value;
}

function instant(value: unknown): string {
  const ms =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  if (!Number.isFinite(ms))
    throw invalidArgument({
      field: 'secret.expiresAt',
      expected: 'a time such as 2025-01-01T12:00:00Z',
    });
  return new Date(ms).toISOString();
}

export const expiryOf = (secret: Secret): Date | null =>
  secret.type === 'oauth2' && secret.expiresAt !== undefined ? new Date(secret.expiresAt) : null;
