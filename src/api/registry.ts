import type { Recorder } from '../caller/audit.ts';
import { type Caller, requireOperator } from '../caller/caller.ts';
import {
  keyOf,
  mapPage,
  type Page,
  type PageRequest,
  pageLimit,
  pageOf,
  uuidPart,
} from '../caller/keyset.ts';
import { storeTenant } from '../caller/tenant-owner.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { findProvider, listProviders, upsertProvider } from '../store/providers.ts';
import { findTenant, listTenants } from '../store/tenants.ts';
import { notFound, providerNotFound, requireText, requireUuid } from '../values/arguments.ts';
import { type Provider, providerFromRow, type Tenant, tenantFromRow } from './model.ts';

interface Context {
  db: Database;
  ports: Ports;
  caller: Caller;
  record: Recorder;
}

/** Filter and page of `tenants.list`. */
export interface ListedTenants extends PageRequest {
  /** Matches the beginning of the name. */
  search?: string | undefined;
}

/** The customers whose connections are synced. */
export interface TenantsApi {
  /** Operators only. */
  create(input: { name: string }): Promise<Tenant>;

  /** Throws NOT_FOUND if invisible to the caller. */
  get(id: string): Promise<Tenant>;

  /** In order of creation. */
  list(request?: ListedTenants): Promise<Page<Tenant>>;
}

/** A provider to add or change. */
export interface NewProvider {
  slug: string;
  displayName?: string | null | undefined;
  authType?: string | null | undefined;
}

/** The services that connections sync from. */
export interface ProvidersApi {
  /** Adds or changes a provider. Operators only. */
  register(provider: NewProvider): Promise<Provider>;

  /** Ordered by slug. */
  list(request?: PageRequest): Promise<Page<Provider>>;
}

export function createTenants({ db, ports, caller, record }: Context): TenantsApi {
  return {
    async create({ name }) {
      requireOperator(caller, 'create tenants');
      requireText('name', name, 200);
      const now = await db.now();
      const id = ports.newId();
      return tenantFromRow(await db.transaction((tx) => storeTenant(tx, now, { id, name }, record)));
    },

    async get(id) {
      requireUuid('tenant', id);
      const row = await findTenant(db, id);
      if (!row) throw notFound(`tenant ${id}`);
      return tenantFromRow(row);
    },

    async list({ cursor, limit: requestedLimit, search } = {}) {
      const limit = pageLimit(requestedLimit);
      if (search !== undefined) requireText('search', search, 200);
      const after = keyOf('tenants', cursor, [uuidPart])?.[0];
      const rows = await listTenants(db, { search, after, limit: limit + 1 });
      return mapPage(
        pageOf('tenants', rows, ({ id }) => [id]),
        tenantFromRow,
      );
    },
  };
}

export function createProviders({ db, caller, record }: Context): ProvidersApi {
  return {
    async register(provider) {
      requireOperator(caller, 'register providers');
      const { slug, displayName = null, authType = null } = provider;
      requireText('slug', slug, 200);
      if (displayName !== null) requireText('displayName', displayName, 200);
      if (authType !== null) requireText('authType', authType, 200);
      const now = await db.now();
      return db.transaction(async (tx) => {
        await upsertProvider(tx, now, { slug, displayName, authType });
        await record(tx, now, { kind: 'provider.registered', detail: { slug } });
        const row = await findProvider(tx, slug);
        if (!row) throw providerNotFound(slug);
        return providerFromRow(row);
      });
    },

    async list({ cursor, limit: requestedLimit } = {}) {
      const limit = pageLimit(requestedLimit);
      const after = keyOf('providers', cursor, [/^[^\0]+$/])?.[0];
      const rows = await listProviders(db, after, limit + 1);
      return mapPage(
        pageOf('providers', rows, ({ slug }) => [slug]),
        providerFromRow,
      );
    },
  };
}
