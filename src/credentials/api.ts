import type { AuditNote } from '../caller/audit.ts';
import { type Caller, requireOperator } from '../caller/caller.ts';
import { filteredPageById, mapPage, type Page, type PageRequest, pageLimit } from '../caller/keyset.ts';
import { type TenantOwner, tenantOwner } from '../caller/tenant-owner.ts';
import type { Connector } from '../contract/connector.ts';
import type { Secret } from '../contract/credential.ts';
import { SynclineError } from '../contract/errors.ts';
import {
  type CredentialFilter,
  type CredentialRow,
  deleteCredential,
  insertCredential,
  lastCredentialListed,
  listCredentials,
} from '../store/credentials.ts';
import { violatedConstraint } from '../store/database-errors.ts';
import { upsertProvider } from '../store/providers.ts';
import { notFound, providerNotFound, requireText, requireUuid } from '../values/arguments.ts';
import type { AuthorizationRequest } from './authorize.ts';
import {
  type ChangeContext,
  detailOf,
  replace,
  requireCredentialRow,
  transactAfterRefresh,
} from './change.ts';
import { type Authorization, credentialFromRow, type StoredCredential } from './model.ts';
import { type RotationProgress, rotateKeys } from './rotate.ts';
import { checkedSecret, contextOf, expiryOf } from './secret.ts';

export interface CredentialsContext extends ChangeContext {
  caller: Caller;
  connectors: ReadonlyMap<string, Connector>;
}

/** Input of `credentials.create`. */
export type NewCredential = TenantOwner & {
  provider: string;
  name?: string | undefined;
  secret: Secret;
};

/** Filter and page of `credentials.list`. */
export interface ListedCredentials extends CredentialFilter, PageRequest {}

/** Secrets are write-only. */
export interface CredentialsApi {
  /** Stores an encrypted secret. Registers a provider that has a connector. */
  create(input: NewCredential, note?: AuditNote): Promise<StoredCredential>;

  /** Throws NOT_FOUND if the caller sees none. */
  get(id: string): Promise<StoredCredential>;

  /** Ordered by id, roughly by creation. */
  list(request?: ListedCredentials): Promise<Page<StoredCredential>>;

  /** Replaces the secret. Activates connections in `needs_auth`. */
  replace(id: string, secret: Secret, note?: AuditNote): Promise<StoredCredential>;

  /** Throws CONFLICT while connections use it. */
  delete(id: string, note?: AuditNote): Promise<void>;

  /** Creates an OAuth 2 consent link, valid for ten minutes. */
  authorize(request: AuthorizationRequest): Promise<Authorization>;

  /** Re-encrypts all secrets with the first key. Operators only. */
  rotate(onProgress?: (progress: RotationProgress) => void): Promise<RotationProgress>;
}

export function createCredentialStore(context: CredentialsContext): Omit<CredentialsApi, 'authorize'> {
  const { db, ports, vault, record, caller, connectors } = context;

  async function get(id: string): Promise<StoredCredential> {
    requireUuid('credential', id);
    return credentialFromRow(await requireCredentialRow(db, id));
  }

  return {
    get,

    async create(input, note = {}) {
      const { provider, name } = input;
      const owner = await tenantOwner(context, input);
      // As Postgres writes it: the id is authenticated (AAD).
      const tenantId = owner.tenantId.toLowerCase();
      requireText('provider', provider, 200);
      if (name !== undefined) requireText('name', name, 200);
      const secret = checkedSecret(input.secret);
      const now = await db.now();
      const id = ports.newId();
      const sealed = vault.seal(contextOf({ tenantId, id }), secret);
      const connector = connectors.get(provider);
      if (connector)
        await upsertProvider(db, now, { slug: provider, displayName: connector.name, authType: null });
      return db.transaction(async (tx) => {
        await owner.store(tx, now, note);
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
        await record(tx, now, { tenantId, kind: 'credential.created', detail }, note);
        return credentialFromRow(await requireCredentialRow(tx, id));
      });
    },

    async list({ cursor, limit: requestedLimit, ...filter } = {}) {
      const limit = pageLimit(requestedLimit);
      if (filter.tenantId !== undefined) requireUuid('tenantId', filter.tenantId);
      if (filter.provider !== undefined) requireText('provider', filter.provider, 200);
      const page = await filteredPageById(
        'credentials',
        { cursor, limit, filter },
        (after, bounds) => listCredentials(db, filter, { after, ...bounds }),
        (after, scan) => lastCredentialListed(db, filter, { after, scan }),
      );
      return mapPage(page, credentialFromRow);
    },

    async replace(id, secret, note = {}) {
      await get(id);
      const change = { kind: 'credential.replaced' as const, note };
      return credentialFromRow(await replace(context, id, checkedSecret(secret), change));
    },

    async delete(id, note = {}) {
      requireUuid('credential', id);
      await transactAfterRefresh(context, id, async (tx) => {
        // Locks first: the second snapshot sees a connection attached meanwhile.
        await requireCredentialRow(tx, id, 'FOR UPDATE OF c');
        const row = await requireCredentialRow(tx, id);
        if (row.connections > 0) throw inUse(row);
        await deleteCredential(tx, id);
        const detail = detailOf(row);
        const now = await db.now();
        await record(tx, now, { tenantId: row.tenant_id, kind: 'credential.deleted', detail }, note);
      });
    },

    async rotate(onProgress = () => {}) {
      requireOperator(caller, 'rotate keys');
      return rotateKeys({ db, vault }, onProgress);
    },
  };
}

const noProvider = (provider: string) => (error: unknown) => {
  if (violatedConstraint(error) !== 'credentials_provider_slug_fkey') throw error;
  throw providerNotFound(provider);
};

function inUse({ id, connections }: CredentialRow): SynclineError {
  const users = connections === 1 ? 'a connection uses' : `${connections} connections use`;
  return new SynclineError('CONFLICT', `Credential ${id} cannot be deleted: ${users} it.`, {
    hint: 'Assign another credential to them, or delete them, first.',
  });
}
