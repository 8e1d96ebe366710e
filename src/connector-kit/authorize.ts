import type { Credential } from '../contract/credential.ts';
import { PermanentError } from '../contract/errors.ts';

/** What a credential adds to a request. */
interface Authorization {
  headers?: Record<string, string>;
  query?: Record<string, string>;
}

/** How a credential is shown to a provider. */
export interface Authorize {
  (credential: Credential): Authorization;
  /** A connection without a credential asks without one. */
  isOptional?: boolean;
}

/** `Authorization: Bearer …` for keys and tokens, `Basic …` for a name and a password. */
export function bearer(scheme = 'Bearer'): Authorize {
  return (credential) => ({ headers: { authorization: authorizationOf(credential, scheme) } });
}

/** A key in a header of the provider's own, such as `x-api-key`. */
export function apiKeyHeader(name: string, prefix = ''): Authorize {
  return (credential) => ({ headers: { [name]: `${prefix}${tokenOf(credential)}` } });
}

/** A key among the parameters of the query. It is hidden in logs. */
export function apiKeyQuery(name: string): Authorize {
  return (credential) => ({ query: { [name]: tokenOf(credential) } });
}

/** For providers that answer strangers as well: a connection without a credential asks without one. */
export function optional(authorize: Authorize): Authorize {
  return Object.assign((credential: Credential) => authorize(credential), { isOptional: true });
}

function authorizationOf(credential: Credential, scheme: string): string {
  if (credential.type !== 'basic') return `${scheme} ${tokenOf(credential)}`;
  const { username, password } = credential;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function tokenOf(credential: Credential): string {
  if (credential.type === 'api_key') return credential.key;
  if (credential.type === 'oauth2') return credential.accessToken;
  throw new PermanentError(
    `The connection's credential is of type ${credential.type}; this provider takes an API key or OAuth 2.`,
  );
}
