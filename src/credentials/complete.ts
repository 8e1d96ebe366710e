import type { Logger } from 'pino';
import { type Recorder, recorder } from '../caller/audit.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import { isAuthorizationStarted, takeAuthorization } from '../store/authorizations.ts';
import {
  type ConnectionRow,
  findConnection,
  type LockedConnection,
  lockConnection,
} from '../store/connections.ts';
import {
  findCredential,
  insertCredential,
  sealedOf,
  writeConnectionCredential,
} from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { hashOf } from '../values/secret-token.ts';
import {
  type AuthorizeContext,
  type ConsentState,
  consentContext,
  isKeyValid,
  oauth2Of,
} from './authorize.ts';
import { detailOf, replace } from './change.ts';
import type { OAuthApi } from './oauth.ts';
import { revive } from './revive.ts';
import { contextOf, expiryOf } from './secret.ts';
import { type OAuth2Secret, requestTokens } from './token-request.ts';

export type CompleteContext = Omit<AuthorizeContext, 'caller' | 'config'> & {
  log: Logger;
  /** The database is closing: issued tokens must be stored. */
  closing: AbortSignal;
};

/** Anything else is not echoed. */
const codePattern = /^[a-z][a-z_]{2,39}$/;

export function createComplete(context: CompleteContext): OAuthApi['complete'] {
  const { db, ports, vault, connectors, log, closing } = context;

  return async (callback) => {
    const state = hashOf(callback.state);
    const row =
      callback.browser === undefined
        ? undefined
        : await takeAuthorization(db, state, hashOf(callback.browser));
    if (!row && (await isAuthorizationStarted(db, new Date(ports.now()), state))) throw otherBrowser();
    if (!row || row.expires_at.getTime() <= ports.now()) throw unknownState();
    const { tenant_id: tenantId, connection_id: connectionId } = row;
    const consent = vault.open(consentContext(tenantId, row.state), sealedOf(row)) as ConsentState;
    const arrival = { connectionId, returnTo: consent.returnTo };
    if (callback.code === undefined) return { ...arrival, error: codeOf(callback.error) };
    const { provider_slug: provider } = await requireOpen(db, connectionId, consent);
    const answer = await exchange(provider, callback.code, consent);
    if ('error' in answer) return { ...arrival, error: answer.error };
    await storeTokens(connectionId, answer.tokens, consent);
    return { ...arrival, error: undefined };
  };

  /** Before the exchange and per transaction: key and connection may be gone. */
  async function requireOpen(
    tx: Queryable,
    connectionId: string,
    consent: ConsentState,
  ): Promise<ConnectionRow> {
    const connection = await findConnection(tx, connectionId);
    if (!connection || connection.deleting_since || !(await isKeyValid(tx, consent))) throw unknownState();
    return connection;
  }

  /** Users see only whether a retry may help. */
  async function exchange(
    provider: string,
    code: string,
    consent: ConsentState,
  ): Promise<{ tokens: OAuth2Secret } | { error: string }> {
    const failed = (error: string, why: string) => {
      log.warn({ provider }, `consent failed: ${why}`);
      return { error };
    };
    const parameters = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: consent.redirectUri,
      code_verifier: consent.verifier ?? '',
    };
    try {
      const answer = await requestTokens(ports, oauth2Of(connectors, provider), parameters);
      return 'refused' in answer ? failed('invalid_grant', answer.refused) : answer;
    } catch (error) {
      return failed('temporarily_unavailable', describeError(error));
    }
  }

  /** Restarts if the connection's credential has changed. */
  async function storeTokens(
    connectionId: string,
    tokens: OAuth2Secret,
    consent: ConsentState,
  ): Promise<void> {
    const check = async (tx: Queryable) => void (await requireOpen(tx, connectionId, consent));
    let seen: LockedConnection | undefined = await findConnection(db, connectionId);
    while (seen) {
      const scoped = db.scopedTo(seen.tenant_id);
      const record = recorder(ports, consent);
      const held = seen.credential_id && (await findCredential(scoped, seen.credential_id));
      if (held && held.kind === 'oauth2') {
        const change = { kind: 'credential.authorized' as const, note: {}, connectionId, check };
        await replace({ db: scoped, ports, stopping: closing, vault, record }, held.id, tokens, change);
        return;
      }
      const { credential_id: seenCredential } = seen;
      const changed = await scoped.transaction(async (tx) => {
        const row = await lockConnection(tx, connectionId);
        if (!row) throw unknownState();
        await check(tx);
        if (row.credential_id !== seenCredential) return row;
        await addCredential(tx, row, tokens, record);
        return undefined;
      });
      if (!changed) return;
      seen = changed;
    }
    throw unknownState();
  }

  async function addCredential(
    tx: Queryable,
    row: LockedConnection,
    tokens: OAuth2Secret,
    record: Recorder,
  ): Promise<void> {
    const { id: connectionId, tenant_id: tenantId, provider_slug: provider } = row;
    const now = new Date(ports.now());
    const id = ports.newId();
    const credential = {
      id,
      tenantId,
      provider,
      name: row.external_id?.slice(0, 200) ?? null,
      kind: tokens.type,
    };
    const sealed = vault.seal(contextOf({ tenantId, id }), tokens);
    await insertCredential(tx, now, { ...credential, expiresAt: expiryOf(tokens), ...sealed });
    await writeConnectionCredential(tx, now, connectionId, id);
    const detail = detailOf({ ...credential, provider_slug: provider });
    await record(tx, now, { tenantId, connectionId, kind: 'credential.authorized', detail });
    const newId = () => ports.newId();
    await revive(tx, { now, rows: [row], connectionId, reason: 'consent was given', record, newId });
  }
}

const codeOf = (error: string | undefined) => (error && codePattern.test(error) ? error : 'provider_error');

/** Stays open for the browser that started. */
const otherBrowser = () =>
  new SynclineError(
    'FORBIDDEN',
    'This authorization was not started in this browser, so nothing was connected.',
    {
      hint:
        'Start again and finish in the same browser, with cookies allowed. If you did not start it ' +
        'yourself, close this page: the link may belong to another person.',
    },
  );

const unknownState = () =>
  new SynclineError(
    'EXPIRED',
    'This authorization was already used, was withdrawn, or took longer than 10 minutes.',
    {
      hint: 'Go back to where you started and try again.',
    },
  );
