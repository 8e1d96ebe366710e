import { createHash, randomBytes } from 'node:crypto';
import { invalid, requireUuid } from '../checks.ts';
import type { Config } from '../config/settings.ts';
import type { Connector } from '../connector.ts';
import { SynclineError } from '../errors.ts';
import { changeConnection } from '../existing-connection.ts';
import type { Ports } from '../ports.ts';
import { insertAuthorization } from '../store/authorizations.ts';
import type { Database } from '../store/database.ts';
import type { Who } from '../who.ts';
import type { OAuth2 } from './credential.ts';
import type { Vault } from './vault.ts';

/** What is remembered of somebody who was sent to a provider. Sealed: the verifier is a secret. */
export interface Journey {
  verifier: string;
  redirectUri: string;
  returnTo?: string | undefined;
  /** Who sent them. */
  actor: string;
}

export interface Authorization {
  /** Where the person is to be sent. */
  authorizationUrl: string;
  expiresAt: Date;
}

export interface AuthorizeContext {
  db: Database;
  ports: Ports;
  vault: Vault;
  who: Who;
  config: Config['server'];
  connectors: ReadonlyMap<string, Connector>;
}

/** Long enough to sign in and to read what is asked for. */
const validMs = 10 * 60 * 1000;
/** Tabs that somebody opens for one connection; the oldest give way. */
const mostPerConnection = 10;
const longestUrl = 2000;

export const stateHash = (state: string) => createHash('sha256').update(state).digest();
export const journeyContext = (tenantId: string, state: Buffer) =>
  `authorizations/${tenantId}/${state.toString('hex')}`;

/** The way of a person to a provider, there and back (RFC 6749, with PKCE as in RFC 7636). */
export function createAuthorize({ db, ports, vault, who, config, connectors }: AuthorizeContext) {
  return async (request: {
    connectionId: string;
    /** Where the provider sends them back to: this service's own callback. */
    redirectUri: string;
    /** Where they go on afterwards. */
    returnTo?: string | undefined;
  }): Promise<Authorization> => {
    const { connectionId, redirectUri, returnTo } = request;
    requireUuid('connectionId', connectionId);
    if (returnTo !== undefined) requireReturn(returnTo, redirectUri, config.returnOrigins);
    const [state, verifier] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
    const hash = stateHash(state);
    const { oauth2, expiresAt } = await changeConnection(
      { db, ports },
      connectionId,
      async (tx, row, now) => {
        const { tenant_id: tenantId, provider_slug: provider } = row;
        const oauth2 = oauth2Of(connectors, provider);
        const expiresAt = new Date(now.getTime() + validMs);
        const journey: Journey = { verifier, redirectUri, returnTo, actor: who.actor };
        const sealed = vault.seal(journeyContext(tenantId, hash), journey);
        await insertAuthorization(
          tx,
          now,
          { state: hash, connectionId, tenantId, expiresAt, ...sealed },
          mostPerConnection,
        );
        return { oauth2, expiresAt };
      },
    );
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    return { authorizationUrl: consentUrl(oauth2, { redirectUri, state, challenge }), expiresAt };
  };
}

export function oauth2Of(connectors: ReadonlyMap<string, Connector>, provider: string): OAuth2 {
  const oauth2 = connectors.get(provider)?.oauth2;
  if (oauth2) return oauth2;
  throw new SynclineError('CONFLICT', `No connector here says how consent is given to "${provider}".`, {
    hint: 'Give the service a connector with `oauth2` for it, or store a credential that you have already.',
  });
}

/** What is ours cannot be overridden by the connector's own parameters. */
function consentUrl(
  oauth2: OAuth2,
  { redirectUri, state, challenge }: { redirectUri: string; state: string; challenge: string },
): string {
  const url = new URL(oauth2.authorizationUrl);
  const scopes = oauth2.scopes ?? [];
  const parameters = {
    ...oauth2.authorizationParameters,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    response_type: 'code',
    client_id: oauth2.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** An address of somebody else would make this service lead people astray. */
function requireReturn(returnTo: string, redirectUri: string, origins: readonly string[]): void {
  const url = URL.canParse(returnTo) && returnTo.length <= longestUrl ? new URL(returnTo) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!url || !isPlain)
    throw invalid(
      `returnTo is no such thing; it must be an http(s) URL of at most ${longestUrl} characters.`,
    );
  if (url.origin !== new URL(redirectUri).origin && !origins.includes(url.origin))
    throw invalid(
      `returnTo is at ${url.origin}; it must be at the origin of this service, or at one that is allowed.`,
      'Add the origin to SYNCLINE_SERVER_RETURN_ORIGINS.',
    );
}
