import type { Logger } from 'pino';
import { type Recorder, recorder } from '../doer.ts';
import { describeError, SynclineError } from '../errors.ts';
import { takeAuthorization } from '../store/authorizations.ts';
import { findConnection, type LockedConnection, lockConnection } from '../store/connections.ts';
import {
  findCredential,
  insertCredential,
  sealedOf,
  writeConnectionCredential,
} from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { type AuthorizeContext, type Journey, journeyContext, oauth2Of, stateHash } from './authorize.ts';
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

/** Takes what a provider sent a person back with. It is trusted because of the state alone, once. */
export function createFinish(context: FinishContext) {
  const { db, ports, vault, connectors, log } = context;

  return async (came: {
    state: string;
    code?: string | undefined;
    error?: string | undefined;
  }): Promise<Arrival> => {
    const state = stateHash(came.state);
    const row = await takeAuthorization(db, state);
    if (!row || row.expires_at.getTime() <= ports.now()) throw unknownState();
    const { tenant_id: tenantId, connection_id: connectionId } = row;
    const journey = vault.open(journeyContext(tenantId, state), sealedOf(row)) as Journey;
    const arrival = { connectionId, returnTo: journey.returnTo };
    if (came.code === undefined) return { ...arrival, error: codeOf(came.error) };
    const connection = await findConnection(db, connectionId);
    if (!connection) throw unknownState();
    const provider = connection.provider_slug;
    const answer = await exchange(provider, came.code, journey);
    if ('error' in answer) return { ...arrival, error: answer.error };
    await keep(connectionId, answer.tokens, journey.actor);
    return { ...arrival, error: undefined };
  };

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
      code_verifier: journey.verifier,
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
  async function keep(connectionId: string, tokens: OAuth2Secret, actor: string): Promise<void> {
    let seen: LockedConnection | undefined = await findConnection(db, connectionId);
    while (seen) {
      const scoped = db.scopedTo(seen.tenant_id);
      const record = recorder(ports, actor);
      const held = seen.credential_id && (await findCredential(scoped, seen.credential_id));
      if (held && held.kind === 'oauth2') {
        const how = { kind: 'credential.authorized' as const, doer: {}, connectionId };
        return replace({ db: scoped, ports, vault, record }, held.id, tokens, how);
      }
      const { credential_id: usual } = seen;
      const changed = await scoped.transaction(async (tx) => {
        const row = await lockConnection(tx, connectionId);
        if (!row) throw unknownState();
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
    const ids = row.status === 'needs_auth' ? [connectionId] : [];
    await revive(tx, { now, ids, tenantId, reason: 'consent was given', record });
  }
}

const codeOf = (error: string | undefined) => (error && codePattern.test(error) ? error : 'provider_error');

/** Used, expired, or never given out: whoever asks is told the same. */
const unknownState = () =>
  new SynclineError(
    'EXPIRED',
    'This way back from the provider was used already, or took longer than 10 minutes.',
    {
      hint: 'Begin again where you came from.',
    },
  );
