import type { AuditNote } from '../caller/audit.ts';
import { type Caller, requireOperator } from '../caller/caller.ts';
import { filteredPageById, mapPage, type Page, type PageRequest, pageLimit } from '../caller/keyset.ts';
import type { Connector } from '../contract/connector.ts';
import type { Secret } from '../contract/credential.ts';
import { SynclineError } from '../contract/errors.ts';
import {
  type CredentialFilter,
  type CredentialRow,
  deleteCredential,
  findCredential,
  insertCredential,
  lastCredentialListed,
  listCredentials,
} from '../store/credentials.ts';
import { violatedConstraint } from '../store/database-errors.ts';
import { upsertProvider } from '../store/providers.ts';
import { notFound, requireText, requireUuid } from '../values/arguments.ts';
import { type ChangeContext, detailOf, replace, whenFree } from './change.ts';
import { type RotationProgress, rotateKeys } from './rotate.ts';
import { checkedSecret, contextOf, expiryOf } from './secret.ts';

/** What is known of a credential. Its secret is never told. */
export interface StoredCredential {
  id: string;
  tenantId: string;
  provider: string;
  name: string | undefined;
  kind: Secret['type'];
  /** Counts every change of the secret. */
  generation: number;
  /** Of an access token. */
  expiresAt: Date | undefined;
  /** Since when, and why, the provider does not renew it. */
  refusedAt: Date | undefined;
  refusedReason: string | undefined;
  refreshedAt: Date | undefined;
  createdAt: Date;
  updatedAt: Date;
  /** How many connections use it; 1000 stands for that or more. */
  connections: number;
}

export interface CredentialsContext extends ChangeContext {
  who: Caller;
  connectors: ReadonlyMap<string, Connector>;
}

/** What opens providers' APIs, as callers see it. */
export function createCredentialStore(context: CredentialsContext) {
  const { db, ports, vault, record, who, connectors } = context;

  async function get(id: string): Promise<StoredCredential> {
    requireUuid('credential', id);
    const row = await findCredential(db, id);
    if (!row) throw notFound(`credential ${id}`);
    return toStored(row);
  }

  return {
    get,

    /** Encrypts a secret and keeps it for a tenant's connections with a provider. */
    async create(
      input: { tenantId: string; provider: string; name?: string | undefined; secret: Secret },
      doer: AuditNote = {},
    ): Promise<StoredCredential> {
      const { provider, name } = input;
      requireUuid('tenantId', input.tenantId);
      // As Postgres writes it: it is part of what is authenticated.
      const tenantId = input.tenantId.toLowerCase();
      requireText('provider', provider, 200);
      if (name !== undefined) requireText('name', name, 200);
      const secret = checkedSecret(input.secret);
      const id = ports.newId();
      const sealed = vault.seal(contextOf({ tenantId, id }), secret);
      const now = await db.now();
      const connector = connectors.get(provider);
      if (connector)
        await upsertProvider(db, now, { slug: provider, displayName: connector.name, authType: null });
      await db.transaction(async (tx) => {
        const row = {
          id,
          tenantId,
          provider,
          name: name ?? null,
          kind: secret.type,
          expiresAt: expiryOf(secret),
        };
        const isKnown = await insertCredential(tx, now, { ...row, ...sealed }).catch(noProvider(provider));
        if (!isKnown) throw notFound(`tenant ${tenantId}`);
        const detail = detailOf({ ...row, provider_slug: provider });
        await record(tx, now, { tenantId, kind: 'credential.created', detail }, doer);
      });
      return get(id);
    },

    /** In the order in which they were made. */
    async list({
      cursor,
      limit: wanted,
      ...filter
    }: PageRequest & CredentialFilter = {}): Promise<Page<StoredCredential>> {
      const limit = pageLimit(wanted);
      if (filter.tenantId !== undefined) requireUuid('tenantId', filter.tenantId);
      if (filter.provider !== undefined) requireText('provider', filter.provider, 200);
      const page = await filteredPageById(
        'credentials',
        { cursor, limit, filter },
        (after, bounds) => listCredentials(db, filter, { after, ...bounds }),
        (after, scan) => lastCredentialListed(db, filter, { after, scan }),
      );
      return mapPage(page, toStored);
    },

    /** Puts another secret in its place. Connections that waited for one are active again. */
    async replace(id: string, secret: Secret, doer: AuditNote = {}): Promise<StoredCredential> {
      await get(id);
      await replace(context, id, checkedSecret(secret), { kind: 'credential.replaced', doer });
      return get(id);
    },

    /** Refuses where connections use it. */
    async remove(id: string, doer: AuditNote = {}): Promise<void> {
      requireUuid('credential', id);
      await whenFree(context, id, async (tx) => {
        // Locked first and looked at afterwards: a connection that just took it is then seen.
        if (!(await findCredential(tx, id, 'FOR UPDATE OF c'))) throw notFound(`credential ${id}`);
        const row = await findCredential(tx, id);
        if (!row) throw notFound(`credential ${id}`);
        if (row.connections > 0) throw inUse(row);
        await deleteCredential(tx, id);
        const detail = detailOf(row);
        const now = await db.now();
        await record(tx, now, { tenantId: row.tenant_id, kind: 'credential.deleted', detail }, doer);
      });
    },

    /** Encrypts anew, with the first of the configured keys, what is under another one. */
    async rotate(onProgress: (progress: RotationProgress) => void = () => {}): Promise<RotationProgress> {
      requireOperator(who, 'rotate keys');
      return rotateKeys({ db, vault }, onProgress);
    },
  };
}

const noProvider = (provider: string) => (error: unknown) => {
  if (violatedConstraint(error) !== 'credentials_provider_slug_fkey') throw error;
  throw notFound(`provider "${provider}"`, 'Register it first.');
};

function inUse({ id, connections }: CredentialRow): SynclineError {
  const users = connections === 1 ? 'a connection uses' : `${connections} connections use`;
  return new SynclineError('CONFLICT', `Credential ${id} cannot be deleted: ${users} it.`, {
    hint: 'Give them another one, or delete them, first.',
  });
}

const toStored = (row: CredentialRow): StoredCredential => ({
  id: row.id,
  tenantId: row.tenant_id,
  provider: row.provider_slug,
  name: row.name ?? undefined,
  kind: row.kind,
  generation: row.generation,
  expiresAt: row.expires_at ?? undefined,
  refusedAt: row.refused_at ?? undefined,
  refusedReason: row.refused_reason ?? undefined,
  refreshedAt: row.refreshed_at ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  connections: row.connections,
});
