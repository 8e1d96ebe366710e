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
import { isPermanent, isTransient } from '../store/database-errors.ts';
import type { Sealed } from '../store/sealed.ts';
import { findRecipients, noteReceived, type RecipientRow } from '../store/webhooks.ts';
import { secretTexts, withoutSecrets } from '../values/redact.ts';
import { check } from '../values/standard-schema.ts';
import { unknownKey } from '../values/suggest.ts';
import { nilUuid, uuidPattern } from '../values/uuid.ts';
import { createLockedBatches } from './locked-batches.ts';
import { type Taken, takeAll } from './take.ts';
import { type WebhooksApi, webhookContext } from './webhooks.ts';

export interface DeliverContext {
  db: Database;
  ports: Ports;
  log: Logger;
  connectors: ReadonlyMap<string, Connector>;
  vault: Vault;
  /** Bounds pool connections. */
  gate: Semaphore;
  maxHeld: number;
}

/** Whether the signature is valid, and the body to respond with. */
export type Receipt = { verified: false } | { verified: true; reply?: unknown };

/** Adds the receiver of deliveries for custom servers. */
export interface DeliveriesApi extends WebhooksApi {
  /** Needs no caller: the signature authenticates the delivery. */
  deliver(provider: string, connectionId: string, delivery: Delivery): Promise<Receipt>;
}

/** For malformed ids: same time. */
const noConnection = nilUuid;
const queryTimeoutMs = 5000;
/** Senders would have timed out. */
const maxWaiting = 5000;
const maxBatchItems = 500;
/** Slack times out after three seconds. */
const reactionTimeoutMs = 2000;
const noteIntervalMs = 60_000;
/** Thousands of deliveries repeat a failure. */
const logIntervalMs = 60_000;

const tooMany = () =>
  new SynclineError('OVERLOADED', `The queue of ${maxWaiting} webhook deliveries is full.`, {
    hint: 'Deliveries arrive faster than the database stores them.',
  });

/** So that the provider retries. */
const unreadableSecret = () =>
  new SynclineError('CONFIG_INVALID', 'The secret of this webhook cannot be decrypted.', {
    hint: 'Add its key to SYNCLINE_CREDENTIALS_KEYS, or create the webhook again.',
  });

/** Timing reveals no reason: every rejection costs one lookup, decryption and HMAC (against a decoy). */
export function createDeliver(context: DeliverContext): DeliveriesApi['deliver'] {
  const { db, ports, log, connectors, vault } = context;
  const limits = { maxWaiting, refusal: tooMany };
  const recipients = createBatches({ ...limits, maxItems: maxBatchItems, run: findAll });
  const notes = createBatches({ ...limits, maxItems: maxBatchItems, run: noteAll });
  const take = createLockedBatches<Taken, undefined>({
    ...limits,
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

  return deliver;

  async function deliver(provider: string, connectionId: string, delivery: Delivery): Promise<Receipt> {
    const row = await recipients.add(
      uuidPattern.test(connectionId) ? connectionId.toLowerCase() : noConnection,
    );
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
    const rows = await context.gate.run(() => findRecipients(db.within(queryTimeoutMs), ids));
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id));
  }

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
        `a webhook delivery could not be verified: ${reasonOf(error, [secret, webhook.secret])}`,
      );
      return false;
    }
  }

  /** A failed delivery is still a hint. */
  async function react(connector: Connector, row: RecipientRow, delivery: Delivery): Promise<Reaction> {
    const { webhook, configSchema } = connector;
    if (!webhook?.react) return {};
    const timer = new AbortController();
    try {
      const config = configSchema ? await check(configSchema, row.config) : { value: row.config };
      if (config.problem) throw new Error(`connection.config does not match the schema: ${config.problem}`);
      const reacted = Promise.resolve(webhook.react(delivery, { id: row.id, config: config.value }));
      const late = ports.sleep(reactionTimeoutMs, timer.signal).then(() => 'late' as const);
      const reaction: unknown = await Promise.race([reacted, late]);
      if (reaction === 'late') throw new Error(`it took longer than ${reactionTimeoutMs} ms`);
      return checkedReaction(reaction);
    } catch (error) {
      const reason = reasonOf(error, [...secretTexts(row.config), webhook.secret]);
      warn('react', row, `the connector's webhook.react failed, the delivery counts as a hint: ${reason}`);
      return {};
    } finally {
      timer.abort();
    }
  }

  async function act(connector: Connector, row: RecipientRow, reaction: Reaction): Promise<void> {
    const isHint = reaction.sync !== false;
    const connectionId = row.id;
    try {
      const { signals } = await checkResult({ signals: reaction.signals ?? [] }, connector);
      if (signals.length > 0 || isHint) await take({ connectionId, signals, isHint });
    } catch (error) {
      // The provider retries.
      if (error instanceof SynclineError || isTransient(error) || isPermanent(error)) throw error;
      // Invalid signals: a retry would not help.
      warn(
        'store',
        row,
        `signals of a webhook delivery were not stored, a sync is queued to find them: ${reasonOf(error)}`,
      );
      await take({ connectionId, signals: [], isHint: true });
    }
  }

  /** Once a minute per connection. */
  async function note(row: RecipientRow): Promise<void> {
    const isRecent = (row.last_received_at?.getTime() ?? 0) > ports.now() - noteIntervalMs;
    if (row.sealed === null || isRecent || beingNoted.has(row.id)) return;
    beingNoted.add(row.id);
    await notes.add(row.id).finally(() => beingNoted.delete(row.id));
  }

  async function noteAll(ids: string[]): Promise<undefined[]> {
    const [now, since] = [new Date(ports.now()), new Date(ports.now() - noteIntervalMs)];
    await context.gate.run(() => noteReceived(db.within(queryTimeoutMs), now, ids, since));
    return ids.map(() => undefined);
  }

  function warn(what: string, row: Partial<RecipientRow> | undefined, message: string): void {
    const { id, provider_slug: provider = '' } = row ?? {};
    // Bounded: only providers with a connector.
    const key = `${what} ${provider}`;
    const nowMs = ports.monotonicMs();
    if (nowMs - (loggedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < logIntervalMs) return;
    loggedAtMs.set(key, nowMs);
    log.warn({ event: 'webhook', provider, ...(id && { connection_id: id }) }, message);
  }
}

const decoyContext = 'webhooks/none/none';

/** Without a key there are no secrets. */
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

function checkedReaction(reaction: unknown): Reaction {
  if (reaction === undefined || reaction === null) return {};
  const unknown = unknownKey(reaction, ['sync', 'signals', 'reply']);
  if (unknown) throw new Error(`the reaction has ${unknown}`);
  const { sync, signals, reply } = reaction as Reaction;
  if (signals !== undefined && !Array.isArray(signals)) throw new Error('signals must be an array.');
  return { sync, signals, reply: sendable(reply) };
}

/** Here a failure is still reported. */
function sendable(reply: unknown): unknown {
  if (reply === undefined) return undefined;
  const json = JSON.stringify(reply);
  if (json === undefined) throw new Error('reply must be JSON.');
  return JSON.parse(json);
}

const reasonOf = (error: unknown, secrets: readonly (string | undefined)[] = []) =>
  withoutSecrets(
    describeError(error).slice(0, 10_000),
    secrets.filter((secret) => secret !== undefined),
  ).slice(0, 500);
