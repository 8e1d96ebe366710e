import { createHash } from 'node:crypto';
import type { OAuth2 } from '../contract/credential.ts';
import { invalidArgument, SynclineError } from '../contract/errors.ts';
import { type AuthorizationRow, findAuthorization, startAuthorization } from '../store/authorizations.ts';
import { findConnection } from '../store/connections.ts';
import { sealedOf } from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { hashOf, newSecret } from '../values/secret-token.ts';
import {
  type AuthorizeContext,
  authorizationTtlMs,
  type ConsentState,
  consentContext,
  isKeyValid,
  oauth2Of,
} from './authorize.ts';
import type { OAuthApi } from './oauth.ts';

export type StartContext = Omit<AuthorizeContext, 'caller' | 'config'>;

/** Shorter ones are guessable. */
const [minProof, maxProof] = [32, 1000];

export function createStart({
  db,
  ports,
  vault,
  connectors,
}: StartContext): Pick<OAuthApi, 'describe' | 'start'> {
  async function requireOpen(tx: Queryable, row: AuthorizationRow | undefined) {
    if (!row || row.expires_at.getTime() <= ports.now()) throw expiredLink();
    const connection = await findConnection(tx, row.connection_id);
    if (!connection || connection.deleting_since) throw expiredLink();
    const consent = vault.open(consentContext(row.tenant_id, row.state), sealedOf(row)) as ConsentState;
    if (!(await isKeyValid(tx, consent))) throw expiredLink();
    const oauth2 = oauth2Of(connectors, connection.provider_slug);
    return { row, connection, oauth2, consent };
  }

  return {
    async describe(link) {
      const { row, connection, oauth2 } = await requireOpen(db, await findAuthorization(db, hashOf(link)));
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

    async start({ link, browser }) {
      requireProof(browser);
      const [linkHash, proof] = [hashOf(link), hashOf(browser)];
      const [state, verifier] = [newSecret(), newSecret()];
      return db.transaction(async (tx) => {
        const found = await requireOpen(tx, await findAuthorization(tx, linkHash, 'FOR UPDATE'));
        const { row, oauth2 } = found;
        if (row.browser && !row.browser.equals(proof)) throw startedElsewhere();
        const context = consentContext(row.tenant_id, linkHash);
        const consent: ConsentState = { ...found.consent, verifier };
        // Restarting keeps the expiry.
        const expiresAt = row.browser ? row.expires_at : new Date(ports.now() + authorizationTtlMs);
        const started = { link: linkHash, providerState: hashOf(state), browser: proof, expiresAt };
        await startAuthorization(tx, { ...started, ...vault.seal(context, consent) });
        const challenge = createHash('sha256').update(verifier).digest('base64url');
        const { redirectUri } = consent;
        return { redirectTo: consentUrl(oauth2, { redirectUri, state, challenge }), state, expiresAt };
      });
    },
  };
}

/** Connector parameters first: cannot override state or PKCE. */
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
    throw invalidArgument({
      field: 'browser',
      expected: `a secret of ${minProof} to ${maxProof} characters`,
    });
}

const expiredLink = () =>
  new SynclineError('EXPIRED', 'This link was already used, was withdrawn, or is older than 10 minutes.', {
    hint: 'Go back to where you found it and start again.',
  });

const startedElsewhere = () =>
  new SynclineError('FORBIDDEN', 'This link was already opened in another browser.', {
    hint: 'Continue in that browser, or go back to where you found the link and start again.',
  });
