import { randomBytes } from 'node:crypto';
import type { AuditNote, Recorder } from '../caller/audit.ts';
import { changeConnection, existingConnection } from '../caller/connection-access.ts';
import type { Connector } from '../contract/connector.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Vault } from '../credentials/index.ts';
import type { LockedConnection } from '../store/connections.ts';
import type { Database, Queryable } from '../store/database.ts';
import { deleteWebhook, findWebhook, upsertWebhook } from '../store/webhooks.ts';
import { invalid } from '../values/arguments.ts';

/** Where a provider sends what concerns a connection, and whether there is a secret to sign it with. */
export interface ConnectionWebhook {
  connectionId: string;
  /** To be put behind the address of the service. */
  path: string;
  /** Whether the connection has a secret of its own. */
  exists: boolean;
  createdAt: Date | undefined;
  /** To within a minute. Only deliveries whose signature was right count. */
  lastReceivedAt: Date | undefined;
}

export interface NewConnectionWebhook extends ConnectionWebhook {
  /** What the provider is to sign with. This is the only time that it is shown. */
  secret: string;
}

/** What a secret is sealed for: in another connection's row it opens nothing. */
export const webhookContext = (of: { tenantId: string; connectionId: string }) =>
  `webhooks/${of.tenantId}/${of.connectionId}`;

/** Shorter ones can be guessed from one signature. */
const secretLength = { least: 16, most: 500 };

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
}) {
  return {
    /** Gives a connection a secret, a random one unless given. One that it has already is replaced, and stops working. */
    async create(
      connectionId: string,
      options: { secret?: string | undefined } & AuditNote = {},
    ): Promise<NewConnectionWebhook> {
      const { secret = randomBytes(32).toString('hex'), ...doer } = options;
      requireSecret(secret);
      return changeConnection({ db }, connectionId, async (tx, row, now) => {
        requireTaker(connectors, row.provider_slug);
        const of = { connectionId: row.id, tenantId: row.tenant_id };
        await upsertWebhook(tx, now, { ...of, ...vault.seal(webhookContext(of), secret) });
        await record(tx, now, { ...of, kind: 'webhook.created' }, doer);
        return { ...(await read(tx, row)), secret };
      });
    },

    /** Whether it has one, and when something last came. */
    async get(connectionId: string): Promise<ConnectionWebhook> {
      return read(db, await existingConnection(db, connectionId));
    },

    /** Forgets the secret: what is signed with it is refused from now on. */
    async remove(connectionId: string, doer: AuditNote = {}): Promise<void> {
      await changeConnection({ db }, connectionId, async (tx, row, now) => {
        if (!(await deleteWebhook(tx, row.id)))
          throw new SynclineError('NOT_FOUND', `Connection ${row.id} has no webhook.`);
        const of = { connectionId: row.id, tenantId: row.tenant_id };
        await record(tx, now, { ...of, kind: 'webhook.deleted' }, doer);
      });
    },
  };

  async function read(on: Queryable, row: LockedConnection): Promise<ConnectionWebhook> {
    const webhook = await findWebhook(on, row.id);
    return {
      connectionId: row.id,
      path: `/v1/webhooks/${encodeURIComponent(row.provider_slug)}/${row.id}`,
      exists: webhook !== undefined,
      createdAt: webhook?.created_at,
      lastReceivedAt: webhook?.last_received_at ?? undefined,
    };
  }
}

/** Its value is not shown. */
function requireSecret(secret: unknown): void {
  const { least, most } = secretLength;
  const isGood = typeof secret === 'string' && secret.length >= least && secret.length <= most;
  if (!isGood || /[\0\p{Surrogate}]/u.test(secret))
    throw invalid(
      `secret is ${typeof secret === 'string' ? `text of ${secret.length} characters` : typeof secret}; it must be text of ${least} to ${most} characters.`,
    );
}

/** Where this process knows better. A connector that it does not have may well be there where deliveries arrive. */
function requireTaker(connectors: ReadonlyMap<string, Connector>, provider: string): void {
  const connector = connectors.get(provider);
  if (connector && !connector.webhook)
    throw new SynclineError('CONFLICT', `The connector for provider "${provider}" takes no webhooks.`, {
      hint: 'Give it a `webhook` that says how its provider signs.',
    });
}
