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
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { findProvider, listProviders, upsertProvider } from '../store/providers.ts';
import { findTenant, insertTenant, listTenants } from '../store/tenants.ts';
import { notFound, providerNotFound, requireText, requireUuid } from '../values/arguments.ts';
import { type Provider, providerFromRow, type Tenant, tenantFromRow } from './model.ts';

interface Context {
  db: Database;
  ports: Ports;
  caller: Caller;
  record: Recorder;
}

export function createTenants({ db, ports, caller, record }: Context) {
  return {
    async create({ name }: { name: string }): Promise<Tenant> {
      requireOperator(caller, 'create tenants');
      requireText('name', name, 200);
      const id = ports.newId();
      const now = await db.now();
      await db.transaction(async (tx) => {
        await insertTenant(tx, now, id, name);
        await record(tx, now, { tenantId: id, kind: 'tenant.created', detail: { name } });
      });
      return { id, name, createdAt: now };
    },

    async get(id: string): Promise<Tenant> {
      requireUuid('tenant', id);
      const row = await findTenant(db, id);
      if (!row) throw notFound(`tenant ${id}`);
      return tenantFromRow(row);
    },

    /** In order of creation; `search` matches the beginning of the name. */
    async list({
      cursor,
      limit: requestedLimit,
      search,
    }: PageRequest & { search?: string | undefined } = {}): Promise<Page<Tenant>> {
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

export function createProviders({ db, caller, record }: Context) {
  return {
    async register(provider: {
      slug: string;
      displayName?: string | null | undefined;
      authType?: string | null | undefined;
    }): Promise<Provider> {
      requireOperator(caller, 'register providers');
      const { slug, displayName = null, authType = null } = provider;
      requireText('slug', slug, 200);
      if (displayName !== null) requireText('displayName', displayName, 200);
      if (authType !== null) requireText('authType', authType, 200);
      const now = await db.now();
      await db.transaction(async (tx) => {
        await upsertProvider(tx, now, { slug, displayName, authType });
        await record(tx, now, { kind: 'provider.registered', detail: { slug } });
      });
      const row = await findProvider(db, slug);
      if (!row) throw providerNotFound(slug);
      return providerFromRow(row);
    },

    async list({ cursor, limit: requestedLimit }: PageRequest = {}): Promise<Page<Provider>> {
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
