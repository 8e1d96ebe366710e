import { recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import { changeConnection } from '../caller/connection-access.ts';
import type { Config } from '../config/settings.ts';
import type { Connector } from '../contract/connector.ts';
import type { OAuth2 } from '../contract/credential.ts';
import { invalidArgument, SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { insertAuthorization } from '../store/authorizations.ts';
import type { Database, Queryable } from '../store/database.ts';
import { holdValidKey } from '../store/keys.ts';
import { requireUuid } from '../values/arguments.ts';
import { hashOf, newSecret } from '../values/secret-token.ts';
import type { Authorization } from './model.ts';
import type { Vault } from './vault.ts';

/** Encrypted: it holds the PKCE verifier. */
export interface ConsentState {
  verifier?: string | undefined;
  redirectUri: string;
  returnTo?: string | undefined;
  actor: string;
  /** Undefined for the CLI and the library. */
  keyId?: string | undefined;
}

/** Input of `credentials.authorize`. */
export interface AuthorizationRequest {
  connectionId: string;
  redirectUri: string;
  /** Redirect target. */
  returnTo?: string | undefined;
}

export interface AuthorizeContext {
  db: Database;
  ports: Ports;
  vault: Vault;
  caller: Caller;
  config: Config['server'];
  connectors: ReadonlyMap<string, Connector>;
}

/** Of a link, then of its flow. */
export const authorizationTtlMs = 10 * 60 * 1000;
/** A new one replaces the oldest. */
const maxPerConnection = 10;
const maxUrl = 2000;

export const consentContext = (tenantId: string, link: Buffer) =>
  `authorizations/${tenantId}/${link.toString('hex')}`;

/** Locks the key against revocation in a transaction. */
export const isKeyValid = async (tx: Queryable, { keyId }: ConsentState): Promise<boolean> =>
  keyId === undefined || (await holdValidKey(tx, keyId));

export function createAuthorize({ db, ports, vault, caller, config, connectors }: AuthorizeContext) {
  const record = recorder(ports, caller);
  return async (request: AuthorizationRequest): Promise<Authorization> => {
    const { connectionId, redirectUri, returnTo } = request;
    requireUuid('connectionId', connectionId);
    if (returnTo !== undefined) requireReturn(returnTo, redirectUri, config.returnOrigins);
    const link = newSecret();
    const hash = hashOf(link);
    const expiresAt = await changeConnection({ db }, connectionId, async (tx, row, now) => {
      const { tenant_id: tenantId, provider_slug: provider } = row;
      oauth2Of(connectors, provider);
      const expiresAt = new Date(now.getTime() + authorizationTtlMs);
      const consent: ConsentState = { redirectUri, returnTo, actor: caller.actor, keyId: caller.keyId };
      const sealed = vault.seal(consentContext(tenantId, hash), consent);
      const authorization = { link: hash, connectionId, tenantId, expiresAt, ...sealed };
      await insertAuthorization(tx, now, authorization, maxPerConnection);
      const detail = { provider, expiresAt };
      await record(tx, now, {
        ...{ tenantId, connectionId, kind: 'connection.authorization_requested', detail },
      });
      return expiresAt;
    });
    return { link, expiresAt };
  };
}

export function oauth2Of(connectors: ReadonlyMap<string, Connector>, provider: string): OAuth2 {
  const oauth2 = connectors.get(provider)?.oauth2;
  if (oauth2) return oauth2;
  throw new SynclineError('CONFLICT', `Connector "${provider}" does not define OAuth.`, {
    hint: 'Configure a connector with `oauth2` for this provider, or store an existing credential.',
  });
}

/** Prevents open redirects. */
function requireReturn(returnTo: string, redirectUri: string, origins: readonly string[]): void {
  const url = URL.canParse(returnTo) && returnTo.length <= maxUrl ? new URL(returnTo) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!url || !isPlain)
    throw invalidArgument({
      field: 'returnTo',
      expected: `an http(s) URL of at most ${maxUrl} characters, without user and password`,
    });
  if (url.origin !== new URL(redirectUri).origin && !origins.includes(url.origin))
    throw invalidArgument({
      field: 'returnTo',
      expected: 'at the origin of this service, or at one that is allowed',
      value: url.origin,
      hint: 'Add the origin to SYNCLINE_SERVER_RETURN_ORIGINS.',
    });
}
