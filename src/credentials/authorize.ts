import { createHash, randomBytes } from 'node:crypto';
import { recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import { changeConnection } from '../caller/connection-access.ts';
import type { Config } from '../config/settings.ts';
import type { Connector } from '../contract/connector.ts';
import type { OAuth2 } from '../contract/credential.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { insertAuthorization } from '../store/authorizations.ts';
import type { Database, Queryable } from '../store/database.ts';
import { holdValidKey } from '../store/keys.ts';
import { invalid, requireUuid } from '../values/arguments.ts';
import type { Vault } from './vault.ts';

/** What is remembered between the link and the callback. Sealed: the verifier is a secret. */
export interface Journey {
  /** Made when a browser continues to the provider. */
  verifier?: string | undefined;
  redirectUri: string;
  returnTo?: string | undefined;
  /** Who created the link. */
  actor: string;
  /** The API key that created the link; undefined for the command line and the library. */
  keyId?: string | undefined;
}

export interface Authorization {
  /** What `authorizations.start` takes, once: 256 random bits. The service's own page is at `/v1/connections/consent?link=…`. */
  link: string;
  expiresAt: Date;
}

export interface AuthorizeContext {
  db: Database;
  ports: Ports;
  vault: Vault;
  who: Caller;
  config: Config['server'];
  connectors: ReadonlyMap<string, Connector>;
}

/** Of a link, and then of the way to the provider: long enough to sign in and to read what is asked for. */
export const validMs = 10 * 60 * 1000;
/** Links of one connection; a newer one replaces the oldest. */
const maxPerConnection = 10;
const maxUrl = 2000;

export const hashOf = (secret: string) => createHash('sha256').update(secret).digest();
export const newSecret = () => randomBytes(32).toString('base64url');
export const journeyContext = (tenantId: string, link: Buffer) =>
  `authorizations/${tenantId}/${link.toString('hex')}`;

/** Whether the key that created the link is valid. In a transaction, the key cannot be revoked before it ends. */
export const isKeyValid = async (tx: Queryable, { keyId }: Journey): Promise<boolean> =>
  keyId === undefined || (await holdValidKey(tx, keyId));

/** Creates a link under which a person can give consent. Nothing is sent to the provider yet. */
export function createAuthorize({ db, ports, vault, who, config, connectors }: AuthorizeContext) {
  const record = recorder(ports, who);
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
    const link = newSecret();
    const hash = hashOf(link);
    const expiresAt = await changeConnection({ db }, connectionId, async (tx, row, now) => {
      const { tenant_id: tenantId, provider_slug: provider } = row;
      oauth2Of(connectors, provider);
      const expiresAt = new Date(now.getTime() + validMs);
      const journey: Journey = { redirectUri, returnTo, actor: who.actor, keyId: who.keyId };
      const sealed = vault.seal(journeyContext(tenantId, hash), journey);
      const made = { link: hash, connectionId, tenantId, expiresAt, ...sealed };
      await insertAuthorization(tx, now, made, maxPerConnection);
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
  throw new SynclineError('CONFLICT', `No connector here says how consent is given to "${provider}".`, {
    hint: 'Give the service a connector with `oauth2` for it, or store a credential that you have already.',
  });
}

/** An address of somebody else would make this service lead people astray. */
function requireReturn(returnTo: string, redirectUri: string, origins: readonly string[]): void {
  const url = URL.canParse(returnTo) && returnTo.length <= maxUrl ? new URL(returnTo) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!url || !isPlain)
    throw invalid(`returnTo is no such thing; it must be an http(s) URL of at most ${maxUrl} characters.`);
  if (url.origin !== new URL(redirectUri).origin && !origins.includes(url.origin))
    throw invalid(
      `returnTo is at ${url.origin}; it must be at the origin of this service, or at one that is allowed.`,
      'Add the origin to SYNCLINE_SERVER_RETURN_ORIGINS.',
    );
}
