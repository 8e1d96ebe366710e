import type { Credential } from '../contract/credential.ts';
import { PermanentError } from '../contract/errors.ts';

interface Authorization {
  headers?: Record<string, string>;
  query?: Record<string, string>;
}

/** Turns a credential into headers or query parameters. */
export interface Authorize {
  (credential: Credential): Authorization;
  /** Without a credential, send requests unauthenticated. */
  isOptional?: boolean;
}

/** `Authorization: Bearer …` for keys and tokens, `Basic …` for passwords. */
export function bearer(scheme = 'Bearer'): Authorize {
  return (credential) => ({ headers: { authorization: authorizationHeader(credential, scheme) } });
}

/** Sends the key in a header such as `x-api-key`. */
export function apiKeyHeader(name: string, prefix = ''): Authorize {
  return (credential) => ({ headers: { [name]: `${prefix}${tokenOf(credential)}` } });
}

/** Sends the key as a query parameter; logs redact it. */
export function apiKeyQuery(name: string): Authorize {
  return (credential) => ({ query: { [name]: tokenOf(credential) } });
}

/** Without a credential, sends unauthenticated requests. */
export function optional(authorize: Authorize): Authorize {
  return Object.assign((credential: Credential) => authorize(credential), { isOptional: true });
}

function authorizationHeader(credential: Credential, scheme: string): string {
  if (credential.type !== 'basic') return `${scheme} ${tokenOf(credential)}`;
  const { username, password } = credential;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function tokenOf(credential: Credential): string {
  if (credential.type === 'api_key') return credential.key;
  if (credential.type === 'oauth2') return credential.accessToken;
  throw new PermanentError(
    `The connection's credential has type ${credential.type}; this provider needs an API key or OAuth 2.`,
  );
}
