import { createHash } from 'node:crypto';
import type { OAuth2 } from '../contract/credential.ts';
import { SynclineError } from '../contract/errors.ts';
import { type AuthorizationRow, findAuthorization, startAuthorization } from '../store/authorizations.ts';
import { findConnection } from '../store/connections.ts';
import { sealedOf } from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { invalid } from '../values/arguments.ts';
import {
  type AuthorizeContext,
  hashOf,
  isKeyValid,
  type Journey,
  journeyContext,
  newSecret,
  oauth2Of,
  validMs,
} from './authorize.ts';

/** What a person is asked before they go to the provider. */
export interface ConsentRequest {
  connectionId: string;
  /** What the provider calls the account, if known. */
  externalId: string | undefined;
  tenantId: string;
  /** Who gets access. */
  tenantName: string | undefined;
  providerName: string;
  /** Where the person is sent: the host of the provider's own page. */
  providerHost: string;
  scopes: readonly string[];
  expiresAt: Date;
}

export interface Started {
  /** The provider's page. Redirect the browser there. */
  redirectTo: string;
  /** What the provider brings back. */
  state: string;
  expiresAt: Date;
}

export type StartContext = Omit<AuthorizeContext, 'who' | 'config'>;

/** Fewer could be guessed, more is no secret of a browser. */
const [minProof, maxProof] = [32, 1000];

/** What the holder of a link can do with it (RFC 6749, with PKCE as in RFC 7636). */
export function createStart({ db, ports, vault, connectors }: StartContext) {
  async function existing(tx: Queryable, row: AuthorizationRow | undefined) {
    if (!row || row.expires_at.getTime() <= ports.now()) throw expiredLink();
    const connection = await findConnection(tx, row.connection_id);
    if (!connection || connection.deleting_since) throw expiredLink();
    const journey = vault.open(journeyContext(row.tenant_id, row.state), sealedOf(row)) as Journey;
    if (!(await isKeyValid(tx, journey))) throw expiredLink();
    const oauth2 = oauth2Of(connectors, connection.provider_slug);
    return { row, connection, oauth2, journey };
  }

  return {
    /** Who asks for which access. Changes nothing: a preview of the link does not use it up. */
    async describe(link: string): Promise<ConsentRequest> {
      const { row, connection, oauth2 } = await existing(db, await findAuthorization(db, hashOf(link)));
      const { provider_name: name, provider_slug: slug } = connection;
      return {
        connectionId: connection.id,
        externalId: connection.external_id ?? undefined,
        tenantId: connection.tenant_id,
        tenantName: connection.tenant_name ?? undefined,
        providerName: name ?? connectors.get(slug)?.name ?? slug,
        providerHost: new URL(oauth2.authorizationUrl).host,
        scopes: oauth2.scopes ?? [],
        expiresAt: row.expires_at,
      };
    },

    /**
     * Binds the authorization to one browser and says where to send it. `browser` is a secret of 32 to 1000 characters that
     * only this browser can show again, in a cookie or a session; `finish` demands it. The same browser may start again,
     * which invalidates the state before; another one is refused.
     */
    async start({ link, browser }: { link: string; browser: string }): Promise<Started> {
      requireProof(browser);
      const [linkHash, proof] = [hashOf(link), hashOf(browser)];
      const [state, verifier] = [newSecret(), newSecret()];
      return db.transaction(async (tx) => {
        const found = await existing(tx, await findAuthorization(tx, linkHash, 'FOR UPDATE'));
        const { row, oauth2 } = found;
        if (row.browser && !row.browser.equals(proof)) throw startedElsewhere();
        const context = journeyContext(row.tenant_id, linkHash);
        const journey: Journey = { ...found.journey, verifier };
        // Starting again gives no more time: a link ends, however often it is used.
        const expiresAt = row.browser ? row.expires_at : new Date(ports.now() + validMs);
        const started = { link: linkHash, providerState: hashOf(state), browser: proof, expiresAt };
        await startAuthorization(tx, { ...started, ...vault.seal(context, journey) });
        const challenge = createHash('sha256').update(verifier).digest('base64url');
        const { redirectUri } = journey;
        return { redirectTo: consentUrl(oauth2, { redirectUri, state, challenge }), state, expiresAt };
      });
    },
  };
}

/** The connector's own parameters cannot override those that protect the flow. */
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

function requireProof(browser: unknown): asserts browser is string {
  if (typeof browser !== 'string' || browser.length < minProof || browser.length > maxProof)
    throw invalid(`browser must be a secret of ${minProof} to ${maxProof} characters.`);
}

/** Finished, expired, never issued, or of a revoked key or a connection that is being deleted: the answer is the same. */
const expiredLink = () =>
  new SynclineError('EXPIRED', 'This link was used already, was withdrawn, or is older than 10 minutes.', {
    hint: 'Go back to where you found it and start again.',
  });

const startedElsewhere = () =>
  new SynclineError('FORBIDDEN', 'This link was opened in another browser already.', {
    hint: 'Go on in that browser, or go back to where you found the link and start again.',
  });
