import { randomBytes } from 'node:crypto';
import type { AuditNote, Recorder } from '../caller/audit.ts';
import { changeConnection, existingConnection } from '../caller/connection-access.ts';
import type { Connector } from '../contract/connector.ts';
import { invalidArgument, SynclineError } from '../contract/errors.ts';
import type { Vault } from '../credentials/index.ts';
import type { LockedConnection } from '../store/connections.ts';
import type { Database, Queryable } from '../store/database.ts';
import { deleteWebhook, findWebhook, upsertWebhook } from '../store/webhooks.ts';
import { type ConnectionWebhook, type NewConnectionWebhook, webhookFromRow } from './model.ts';

/** A secret works only in its own row. */
export const webhookContext = (owner: { tenantId: string; connectionId: string }) =>
  `webhooks/${owner.tenantId}/${owner.connectionId}`;

/** Shorter ones can be brute-forced from one signature. */
const secretLength = { min: 16, max: 500 };

/** The webhook of each connection. */
export interface WebhooksApi {
  /** Sets the secret of deliveries; default: random. Replaces the previous one. */
  create(
    connectionId: string,
    options?: { secret?: string | undefined } & AuditNote,
  ): Promise<NewConnectionWebhook>;

  /** Without its secret; `exists` is false if none. */
  get(connectionId: string): Promise<ConnectionWebhook>;

  /** Deletes the secret: deliveries signed with it are rejected. */
  delete(connectionId: string, note?: AuditNote): Promise<void>;
}

export function createWebhooks({
  db,
  connectors,
  vault,
  record,
}: {
  db: Database;
  connectors: ReadonlyMap<string, Connector>;
  vault: Vault;
  record: Recorder;
}): WebhooksApi {
  return {
    async create(connectionId, options = {}) {
      const { secret = randomBytes(32).toString('hex'), ...auditNote } = options;
      requireSecret(secret);
      return changeConnection({ db }, connectionId, async (tx, row, now) => {
        requireWebhookSupport(connectors, row.provider_slug);
        const owner = { connectionId: row.id, tenantId: row.tenant_id };
        await upsertWebhook(tx, now, { ...owner, ...vault.seal(webhookContext(owner), secret) });
        await record(tx, now, { ...owner, kind: 'webhook.created' }, auditNote);
        return { ...(await read(tx, row)), secret };
      });
    },

    async get(connectionId) {
      return read(db, await existingConnection(db, connectionId));
    },

    async delete(connectionId, auditNote = {}) {
      await changeConnection({ db }, connectionId, async (tx, row, now) => {
        if (!(await deleteWebhook(tx, row.id)))
          throw new SynclineError('NOT_FOUND', `Connection ${row.id} has no webhook.`);
        const owner = { connectionId: row.id, tenantId: row.tenant_id };
        await record(tx, now, { ...owner, kind: 'webhook.deleted' }, auditNote);
      });
    },
  };

  async function read(on: Queryable, row: LockedConnection): Promise<ConnectionWebhook> {
    return webhookFromRow(row, await findWebhook(on, row.id));
  }
}

/** The error does not show the value. */
function requireSecret(secret: unknown): void {
  const { min, max } = secretLength;
  const isValid = typeof secret === 'string' && secret.length >= min && secret.length <= max;
  const shown = typeof secret === 'string' ? `text of ${secret.length} characters` : typeof secret;
  if (!isValid || /[\0\p{Surrogate}]/u.test(secret))
    throw invalidArgument({
      field: 'secret',
      expected: `text of ${min} to ${max} characters`,
      value: shown,
    });
}

/** The receiver may have unknown connectors. */
function requireWebhookSupport(connectors: ReadonlyMap<string, Connector>, provider: string): void {
  const connector = connectors.get(provider);
  if (connector && !connector.webhook)
    throw new SynclineError('CONFLICT', `The connector for "${provider}" does not support webhooks.`, {
      hint: 'Define `webhook` in the connector, with the verification of its signature.',
    });
}
