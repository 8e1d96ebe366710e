import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Connector } from '../connector.ts';
import type { Sealed, Vault } from '../credentials/vault.ts';
import { describeError, SynclineError } from '../errors.ts';
import { createGate, shareOfPool } from '../gate.ts';
import type { Ports } from '../ports.ts';
import { check } from '../schema-check.ts';
import { secretTexts, withoutSecrets } from '../secrets.ts';
import type { Database } from '../store/database.ts';
import { isPassing } from '../store/database-errors.ts';
import { findRecipient, noteReceived, type RecipientRow } from '../store/webhooks.ts';
import { storeReceived } from './direct.ts';
import { createHints } from './hints.ts';
import { githubSignature } from './signatures.ts';
import type { Delivery, Reaction, Webhook } from './webhook.ts';
import { webhookContext } from './webhooks.ts';

export interface ReceiverContext {
  db: Database;
  ports: Ports;
  log: Logger;
  connectors: ReadonlyMap<string, Connector>;
  vault: Vault;
  /** Of the database: as many statements as a third of it are under way for deliveries at once. */
  poolSize: number;
}

/** Whether a delivery is the provider's own, and what to answer. */
type Receipt = { verified: false } | { verified: true; reply?: unknown };

export type Receive = (provider: string, connectionId: string, delivery: Delivery) => Promise<Receipt>;

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
/** Looked for where something was asked for that cannot be there, so that it takes as long. */
const nobody = '00000000-0000-0000-0000-000000000000';
const lookMs = 5000;
/** So much waits at most: more than that would be answered after whoever sent it has given up. */
const mostWaiting = 5000;
/** Slack waits for three seconds. */
const reactionMs = 2000;
const notedEveryMs = 60_000;
/** What goes wrong with one delivery goes wrong with thousands: the log says it once in a while. */
const toldEveryMs = 60_000;

const tooMany = () =>
  new SynclineError('DATABASE_UNREACHABLE', `${mostWaiting} deliveries are waiting already.`, {
    hint: 'They come in faster than the database takes them.',
  });

/**
 * Takes what providers send. Whatever is wrong with who sends it, to whom and how it is signed comes to the same, and by the
 * same steps: one look-up, one decryption, one check against a secret, if need be one that nobody knows.
 */
export function createReceiver(context: ReceiverContext): Receive {
  const { db, ports, log, connectors, vault } = context;
  const gate = createGate(shareOfPool(context.poolSize), { mostWaiting, refusal: tooMany });
  const hints = createHints({ db, ports, gate });
  const unknownSecret = randomBytes(32).toString('hex');
  const anyWebhook: Webhook = { verify: githubSignature() };
  const decoy = sealedDecoy(vault, unknownSecret);
  const toldAtMs = new Map<string, number>();
  const beingNoted = new Set<string>();

  return async (provider, connectionId, delivery) => {
    try {
      return await receive(provider, connectionId, delivery);
    } catch (error) {
      if (error instanceof SynclineError || !isPassing(error)) throw error;
      throw new SynclineError('DATABASE_UNREACHABLE', `A delivery was not taken: ${describeError(error)}`, {
        cause: error,
      });
    }
  };

  async function receive(provider: string, connectionId: string, delivery: Delivery): Promise<Receipt> {
    const asked = uuid.test(connectionId) ? connectionId : nobody;
    const row = await gate.through(() => findRecipient(db.within(lookMs), asked));
    const connector = connectors.get(provider);
    const recipient = connector?.webhook && row?.provider_slug === provider ? row : undefined;
    const secret = secretOf(recipient, connector?.webhook);
    const webhook = connector?.webhook ?? anyWebhook;
    const isSigned = verify(webhook, delivery, secret ?? unknownSecret, provider);
    if (!isSigned || !connector || !recipient || secret === undefined) return { verified: false };
    await note(recipient);
    const reaction = await react(connector, recipient, delivery);
    if (recipient.status === 'active') await act(connector, recipient, reaction);
    return { verified: true, reply: reaction.reply };
  }

  /** The connection's own, or else the app's. */
  function secretOf(row: RecipientRow | undefined, webhook: Webhook | undefined): string | undefined {
    const own = row && sealedOf(row);
    try {
      const opened = own ? vault.open(webhookContext(own), own) : decoy && vault.open(decoyContext, decoy);
      if (own) return String(opened);
    } catch (error) {
      tell('secret', row, `the secret of a webhook cannot be read: ${describeError(error)}`);
      return undefined;
    }
    return row && webhook?.secret;
  }

  function verify(webhook: Webhook, delivery: Delivery, secret: string, provider: string): boolean {
    try {
      return webhook.verify(delivery, secret, ports.now()) === true;
    } catch (error) {
      tell(
        'verify',
        { provider_slug: provider },
        `a delivery could not be verified: ${told(error, [secret, webhook.secret])}`,
      );
      return false;
    }
  }

  /** Its own failures are no reason to refuse what the provider has told: that there is something new. */
  async function react(connector: Connector, row: RecipientRow, delivery: Delivery): Promise<Reaction> {
    const { webhook, configSchema } = connector;
    if (!webhook?.react) return {};
    const over = new AbortController();
    try {
      const config = configSchema ? await check(configSchema, row.config) : { value: row.config };
      if (config.problem) throw new Error(`connection.config does not fit: ${config.problem}`);
      const reacted = Promise.resolve(webhook.react(delivery, { id: row.id, config: config.value }));
      const late = ports.sleep(reactionMs, over.signal).then(() => 'late' as const);
      const reaction: unknown = await Promise.race([reacted, late]);
      if (reaction === 'late') throw new Error(`it took longer than ${reactionMs} ms`);
      return checkedReaction(reaction);
    } catch (error) {
      tell(
        'react',
        row,
        `the connector could not react to a delivery, which counts as a hint: ${told(error, [...secretTexts(row.config), webhook.secret])}`,
      );
      return {};
    } finally {
      over.abort();
    }
  }

  async function act(connector: Connector, row: RecipientRow, { signals, sync }: Reaction): Promise<void> {
    const isStored = await store(connector, row, signals ?? []);
    if (sync !== false || !isStored) await hints.hint(row.id);
  }

  async function store(
    connector: Connector,
    row: RecipientRow,
    signals: NonNullable<Reaction['signals']>,
  ): Promise<boolean> {
    if (signals.length === 0) return true;
    try {
      await gate.through(() => storeReceived({ db, ports }, { connectionId: row.id, connector, signals }));
      return true;
    } catch (error) {
      if (error instanceof SynclineError || isPassing(error)) throw error;
      // The signals are no good, or Postgres does not take them. Sent again they would be no better.
      tell('store', row, `signals of a delivery were not stored, a sync has to find them: ${told(error)}`);
      return false;
    }
  }

  /** To within a minute, and nobody waits for anybody: it is for people. */
  async function note(row: RecipientRow): Promise<void> {
    const nowMs = ports.now();
    const isRecent = (row.last_received_at?.getTime() ?? 0) > nowMs - notedEveryMs;
    if (row.sealed === null || isRecent || beingNoted.has(row.id)) return;
    beingNoted.add(row.id);
    try {
      const since = new Date(nowMs - notedEveryMs);
      await gate.through(() => noteReceived(db.within(lookMs), new Date(nowMs), row.id, since));
    } finally {
      beingNoted.delete(row.id);
    }
  }

  function tell(what: string, row: Partial<RecipientRow> | undefined, message: string): void {
    const { id, provider_slug: provider = '' } = row ?? {};
    // Only providers that have a connector come here, so there are few.
    const key = `${what} ${provider}`;
    const nowMs = ports.now();
    if (nowMs - (toldAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < toldEveryMs) return;
    toldAtMs.set(key, nowMs);
    log.warn({ event: 'webhook', provider, ...(id && { connection_id: id }) }, message);
  }
}

const decoyContext = 'webhooks/nobody/nobody';

/** Without a key there are no secrets of connections either, and nothing that would have to look alike. */
function sealedDecoy(vault: Vault, secret: string): Sealed | undefined {
  try {
    return vault.seal(decoyContext, secret);
  } catch {
    return undefined;
  }
}

function sealedOf(row: RecipientRow): (Sealed & { tenantId: string; connectionId: string }) | undefined {
  const { id: connectionId, tenant_id: tenantId, key_id: keyId, sealed } = row;
  return keyId === null || sealed === null ? undefined : { connectionId, tenantId, keyId, sealed };
}

function checkedReaction(given: unknown): Reaction {
  if (given === undefined || given === null) return {};
  const { sync, signals, reply } = given as Reaction;
  if (signals !== undefined && !Array.isArray(signals)) throw new Error('signals must be an array.');
  return { sync, signals, reply: sendable(reply) };
}

/** Written here, where it can still be said that it cannot be, and once: the next time it might say something else. */
function sendable(reply: unknown): unknown {
  if (reply === undefined) return undefined;
  const json = JSON.stringify(reply);
  if (json === undefined) throw new Error('reply must be JSON.');
  return JSON.parse(json);
}

/** Why, for the log: the beginning of it, and none of the secrets. */
const told = (error: unknown, secrets: readonly (string | undefined)[] = []) =>
  withoutSecrets(
    describeError(error).slice(0, 10_000),
    secrets.filter((secret) => secret !== undefined),
  ).slice(0, 500);
