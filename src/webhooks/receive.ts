import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Connector } from '../contract/connector.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import { githubSignature } from '../contract/signatures.ts';
import type { Delivery, Reaction, Webhook } from '../contract/webhook.ts';
import type { Vault } from '../credentials/index.ts';
import { checkResult } from '../pipeline/result.ts';
import { createBatches } from '../platform/batches.ts';
import type { Ports } from '../platform/ports.ts';
import type { Semaphore } from '../platform/semaphore.ts';
import type { Database } from '../store/database.ts';
import { isPassing, isPermanent } from '../store/database-errors.ts';
import type { Sealed } from '../store/sealed.ts';
import { findRecipients, noteReceived, type RecipientRow } from '../store/webhooks.ts';
import { secretTexts, withoutSecrets } from '../values/redact.ts';
import { check } from '../values/standard-schema.ts';
import { createLockedBatches } from './locked-batches.ts';
import { type Taken, takeAll } from './take.ts';
import { webhookContext } from './webhooks.ts';

export interface ReceiverContext {
  db: Database;
  ports: Ports;
  log: Logger;
  connectors: ReadonlyMap<string, Connector>;
  vault: Vault;
  /** What deliveries pass before they use a database connection. */
  gate: Semaphore;
  /** How many transactions of deliveries may wait for a connection that another transaction holds; one less than the gate lets in. */
  maxHeld: number;
}

/** Whether a delivery is the provider's own, and what to answer. */
type Receipt = { verified: false } | { verified: true; reply?: unknown };

export type Receive = (provider: string, connectionId: string, delivery: Delivery) => Promise<Receipt>;

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
/** Looked for where something was asked for that cannot be there, so that it takes as long. */
const noConnection = '00000000-0000-0000-0000-000000000000';
const lookMs = 5000;
/** Deliveries that may wait: more would be answered after their sender's timeout. */
const maxWaiting = 5000;
/** Rows per look-up, and per update of `last_received_at`. */
const maxTogether = 500;
/** Slack waits for three seconds. */
const reactionMs = 2000;
const notedEveryMs = 60_000;
/** A failure of one delivery repeats with thousands: log it once per minute and provider. */
const loggedEveryMs = 60_000;

const tooMany = () =>
  new SynclineError('DATABASE_UNREACHABLE', `${maxWaiting} deliveries are waiting already.`, {
    hint: 'They come in faster than the database takes them.',
  });

/** Nothing is wrong with the delivery: the provider has to send it again once the key is back. */
const unreadableSecret = () =>
  new SynclineError('CONFIG_INVALID', 'The secret of this webhook cannot be decrypted.', {
    hint: 'Add its key to SYNCLINE_CREDENTIALS_KEYS, or create the webhook again.',
  });

/**
 * Takes what providers send. Whatever is wrong with who sends it, to whom and how it is signed comes to the same, and by the
 * same steps: one look-up, one decryption, one check against a secret, if need be one that nobody knows.
 */
export function createReceiver(context: ReceiverContext): Receive {
  const { db, ports, log, connectors, vault } = context;
  const line = { maxWaiting, refusal: tooMany };
  const recipients = createBatches({ ...line, maxItems: maxTogether, run: findAll });
  const notes = createBatches({ ...line, maxItems: maxTogether, run: noteAll });
  const take = createLockedBatches<Taken, undefined>({
    ...line,
    gate: context.gate,
    maxHeld: context.maxHeld,
    write: (taken, locking) => takeAll({ db, ports }, taken, locking),
    sizeOf: ({ signals }) => signals.reduce((sum, { payload }) => sum + payload.length, 0),
  });
  const unknownSecret = randomBytes(32).toString('hex');
  const anyWebhook: Webhook = { verify: githubSignature() };
  const decoy = sealedDecoy(vault, unknownSecret);
  const loggedAtMs = new Map<string, number>();
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
    const row = await recipients.add(uuid.test(connectionId) ? connectionId.toLowerCase() : noConnection);
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

  async function findAll(ids: string[]): Promise<(RecipientRow | undefined)[]> {
    const rows = await context.gate.run(() => findRecipients(db.within(lookMs), ids));
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id));
  }

  /** The connection's own, or else the app's. */
  function secretOf(row: RecipientRow | undefined, webhook: Webhook | undefined): string | undefined {
    const own = row && sealedOf(row);
    try {
      const opened = own ? vault.open(webhookContext(own), own) : decoy && vault.open(decoyContext, decoy);
      if (own) return String(opened);
    } catch (error) {
      warn('secret', row, `the secret of a webhook cannot be decrypted: ${describeError(error)}`);
      throw unreadableSecret();
    }
    return row && webhook?.secret;
  }

  function verify(webhook: Webhook, delivery: Delivery, secret: string, provider: string): boolean {
    try {
      return webhook.verify(delivery, secret, ports.now()) === true;
    } catch (error) {
      warn(
        'verify',
        { provider_slug: provider },
        `a delivery could not be verified: ${reasonOf(error, [secret, webhook.secret])}`,
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
      warn(
        'react',
        row,
        `the connector could not react to a delivery, which counts as a hint: ${reasonOf(error, [...secretTexts(row.config), webhook.secret])}`,
      );
      return {};
    } finally {
      over.abort();
    }
  }

  async function act(connector: Connector, row: RecipientRow, reaction: Reaction): Promise<void> {
    const isHint = reaction.sync !== false;
    const connectionId = row.id;
    try {
      const { signals } = await checkResult({ signals: reaction.signals ?? [] }, connector);
      if (signals.length > 0 || isHint) await take({ connectionId, signals, isHint });
    } catch (error) {
      // A missing grant or table says nothing about the signals: the provider sends them again.
      if (error instanceof SynclineError || isPassing(error) || isPermanent(error)) throw error;
      // The signals are no good, or Postgres does not take them. Sent again they would be no better.
      warn(
        'store',
        row,
        `signals of a delivery were not stored, a sync has to find them: ${reasonOf(error)}`,
      );
      await take({ connectionId, signals: [], isHint: true });
    }
  }

  /** Updates `last_received_at`, at most once a minute per connection. */
  async function note(row: RecipientRow): Promise<void> {
    const isRecent = (row.last_received_at?.getTime() ?? 0) > ports.now() - notedEveryMs;
    if (row.sealed === null || isRecent || beingNoted.has(row.id)) return;
    beingNoted.add(row.id);
    await notes.add(row.id).finally(() => beingNoted.delete(row.id));
  }

  async function noteAll(ids: string[]): Promise<undefined[]> {
    const [now, since] = [new Date(ports.now()), new Date(ports.now() - notedEveryMs)];
    await context.gate.run(() => noteReceived(db.within(lookMs), now, ids, since));
    return ids.map(() => undefined);
  }

  function warn(what: string, row: Partial<RecipientRow> | undefined, message: string): void {
    const { id, provider_slug: provider = '' } = row ?? {};
    // Only providers that have a connector come here, so there are few.
    const key = `${what} ${provider}`;
    const nowMs = ports.monotonicMs();
    if (nowMs - (loggedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < loggedEveryMs) return;
    loggedAtMs.set(key, nowMs);
    log.warn({ event: 'webhook', provider, ...(id && { connection_id: id }) }, message);
  }
}

const decoyContext = 'webhooks/none/none';

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

/** The start of an error's text, for the log, without secrets. */
const reasonOf = (error: unknown, secrets: readonly (string | undefined)[] = []) =>
  withoutSecrets(
    describeError(error).slice(0, 10_000),
    secrets.filter((secret) => secret !== undefined),
  ).slice(0, 500);
