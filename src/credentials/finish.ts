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
import {
  type AuthorizeContext,
  hashOf,
  isKeyValid,
  type Journey,
  journeyContext,
  oauth2Of,
} from './authorize.ts';
import { detailOf, replace } from './change.ts';
import { revive } from './revive.ts';
import { contextOf, expiryOf } from './secret.ts';
import { type OAuth2Secret, requestTokens } from './token-request.ts';

/** How a way to a provider ended, for whoever shows it to the person. */
export interface Arrival {
  connectionId: string;
  returnTo: string | undefined;
  /** A code of RFC 6749, or of ours; undefined where it went well. */
  error: string | undefined;
}

export type FinishContext = Omit<AuthorizeContext, 'who' | 'config'> & { log: Logger };

/** As the codes of the RFC are written. Anything else is not repeated to anybody. */
const codePattern = /^[a-z][a-z_]{2,39}$/;

/** Takes what a provider sent a browser back with: trusted once, and only in the browser that was sent there. */
export function createFinish(context: FinishContext) {
  const { db, ports, vault, connectors, log } = context;

  return async (came: {
    state: string;
    code?: string | undefined;
    error?: string | undefined;
    /** The secret that `start` bound the authorization to. */
    browser: string | undefined;
  }): Promise<Arrival> => {
    const state = hashOf(came.state);
    const row =
      came.browser === undefined ? undefined : await takeAuthorization(db, state, hashOf(came.browser));
    if (!row && (await isAuthorizationStarted(db, new Date(ports.now()), state))) throw otherBrowser();
    if (!row || row.expires_at.getTime() <= ports.now()) throw unknownState();
    const { tenant_id: tenantId, connection_id: connectionId } = row;
    const journey = vault.open(journeyContext(tenantId, row.state), sealedOf(row)) as Journey;
    const arrival = { connectionId, returnTo: journey.returnTo };
    if (came.code === undefined) return { ...arrival, error: codeOf(came.error) };
    const { provider_slug: provider } = await requireOpen(db, connectionId, journey);
    const answer = await exchange(provider, came.code, journey);
    if ('error' in answer) return { ...arrival, error: answer.error };
    await keep(connectionId, answer.tokens, journey);
    return { ...arrival, error: undefined };
  };

  /** The key may be revoked, and the connection deleted, at any time: checked before the exchange and in each transaction. */
  async function requireOpen(tx: Queryable, connectionId: string, journey: Journey): Promise<ConnectionRow> {
    const connection = await findConnection(tx, connectionId);
    if (!connection || connection.deleting_since || !(await isKeyValid(tx, journey))) throw unknownState();
    return connection;
  }

  /** What goes wrong is for whoever runs this; the person is told whether it may work another time. */
  async function exchange(
    provider: string,
    code: string,
    journey: Journey,
  ): Promise<{ tokens: OAuth2Secret } | { error: string }> {
    const failed = (error: string, why: string) => {
      log.warn({ provider }, `a consent came to nothing: ${why}`);
      return { error };
    };
    const parameters = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: journey.redirectUri,
      code_verifier: journey.verifier ?? '',
    };
    try {
      const answer = await requestTokens(ports, oauth2Of(connectors, provider), parameters);
      return 'refused' in answer ? failed('invalid_grant', answer.refused) : answer;
    } catch (error) {
      return failed('temporarily_unavailable', describeError(error));
    }
  }

  /**
   * In place of the tokens that the connection has; those that share them go on with the new ones, too. What it has is
   * looked at again: meanwhile another consent may have arrived, or somebody given it another credential.
   */
  async function keep(connectionId: string, tokens: OAuth2Secret, journey: Journey): Promise<void> {
    const check = async (tx: Queryable) => void (await requireOpen(tx, connectionId, journey));
    let seen: LockedConnection | undefined = await findConnection(db, connectionId);
    while (seen) {
      const scoped = db.scopedTo(seen.tenant_id);
      const record = recorder(ports, journey);
      const held = seen.credential_id && (await findCredential(scoped, seen.credential_id));
      if (held && held.kind === 'oauth2') {
        const how = { kind: 'credential.authorized' as const, doer: {}, connectionId, check };
        return replace({ db: scoped, ports, vault, record }, held.id, tokens, how);
      }
      const { credential_id: usual } = seen;
      const changed = await scoped.transaction(async (tx) => {
        const row = await lockConnection(tx, connectionId);
        if (!row) throw unknownState();
        await check(tx);
        if (row.credential_id !== usual) return row;
        await add(tx, row, tokens, record);
        return undefined;
      });
      if (!changed) return;
      seen = changed;
    }
    throw unknownState();
  }

  /** To a connection, which is locked. */
  async function add(
    tx: Queryable,
    row: LockedConnection,
    tokens: OAuth2Secret,
    record: Recorder,
  ): Promise<void> {
    const { id: connectionId, tenant_id: tenantId, provider_slug: provider } = row;
    const now = new Date(ports.now());
    const id = ports.newId();
    const made = { id, tenantId, provider, name: row.external_id?.slice(0, 200) ?? null, kind: tokens.type };
    const sealed = vault.seal(contextOf({ tenantId, id }), tokens);
    await insertCredential(tx, now, { ...made, expiresAt: expiryOf(tokens), ...sealed });
    await writeConnectionCredential(tx, now, connectionId, id);
    const detail = detailOf({ ...made, provider_slug: provider });
    await record(tx, now, { tenantId, connectionId, kind: 'credential.authorized', detail });
    const newId = () => ports.newId();
    await revive(tx, { now, rows: [row], connectionId, reason: 'consent was given', record, newId });
  }
}

const codeOf = (error: string | undefined) => (error && codePattern.test(error) ? error : 'provider_error');

/** It stays open for the browser that it belongs to. */
const otherBrowser = () =>
  new SynclineError('FORBIDDEN', 'This consent was not started in this browser, so nothing was connected.', {
    hint: 'Start again and finish in the same browser, with cookies allowed. If you did not start it yourself, close this page: the link may be another person’s.',
  });

/** Used, expired, never issued, or withdrawn (key revoked, connection being deleted): the answer is the same. */
const unknownState = () =>
  new SynclineError(
    'EXPIRED',
    'This way back from the provider was used already, was withdrawn, or took longer than 10 minutes.',
    {
      hint: 'Begin again where you came from.',
    },
  );
