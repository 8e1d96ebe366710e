import { z } from 'zod';
import type { EventKind } from '../contract/states.ts';
import type { EventRow, EventWithDetail } from '../store/events.ts';
import type { KeyRow } from '../store/keys.ts';
import type { ProviderRow } from '../store/providers.ts';
import type { TenantRow } from '../store/tenants.ts';
import {
  jsonOf,
  maybe,
  maybeText,
  maybeTime,
  maybeUuid,
  providerSlug,
  textOf,
  time,
  uuid,
} from '../values/model.ts';
import type { ReadJson } from '../values/stored-json.ts';

const tenant = z
  .object({
    id: uuid,
    name: maybeText.meta({ example: 'Northwind' }),
    createdAt: time,
  })
  .meta({ id: 'Tenant' });
/** A customer, who owns connections and credentials. */
export interface Tenant extends z.output<typeof tenant> {}

export const tenantJson = jsonOf(tenant);

export const tenantFromRow = (row: TenantRow): Tenant => ({
  id: row.id,
  name: row.name ?? undefined,
  createdAt: row.created_at,
});

const provider = z
  .object({
    slug: providerSlug,
    displayName: maybeText.meta({ example: 'GitHub' }),
    authType: maybeText.meta({ example: 'oauth2' }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Provider' });
/** A service that connections sync from, such as GitHub. */
export interface Provider extends z.output<typeof provider> {}

export const providerJson = jsonOf(provider);

export const providerFromRow = (row: ProviderRow): Provider => ({
  slug: row.slug,
  displayName: row.display_name ?? undefined,
  authType: row.auth_type ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const apiKey = z.object({
  id: uuid,
  name: z.string().meta({ example: 'deploy' }),
  prefix: z.string().meta({ description: 'First characters of the key.', example: 'syn_ab12' }),
  tenantId: maybeUuid,
  createdAt: time,
  createdBy: z.string(),
  parentId: maybeUuid.meta({ description: 'The key that created it.' }),
  lastUsedAt: maybeTime.meta({ description: 'Accurate to five minutes.' }),
  revokedAt: maybeTime,
});
/** A key of the HTTP API, without the key itself. */
export interface ApiKey extends z.output<typeof apiKey> {}

const newApiKey = apiKey.extend({
  key: z.string().meta({ description: 'The key itself, returned only once.' }),
});
/** A created key. Store it: it is returned only here. */
export interface NewApiKey extends z.output<typeof newApiKey> {}

const apiKeyDetail = apiKey.extend({
  descendants: z.int().meta({
    description: 'Number of valid keys created with it, directly or indirectly; at most 10,000.',
  }),
});
/** An API key and how many keys depend on it. */
export interface ApiKeyDetail extends z.output<typeof apiKeyDetail> {}

const scopes = z.enum(['operator', 'tenant']);
export const scopeOf = ({ tenantId }: { tenantId?: string | undefined }): z.output<typeof scopes> =>
  tenantId === undefined ? 'operator' : 'tenant';

const shownKey = apiKey.extend({ scope: scopes }).meta({ id: 'ApiKey' });
const shownNewKey = newApiKey.extend({ scope: scopes }).meta({ id: 'NewApiKey', base: shownKey });
const shownKeyDetail = apiKeyDetail.extend({ scope: scopes }).meta({ id: 'ApiKeyDetail', base: shownKey });

export const keyJson = jsonOf(apiKey, shownKey, { scope: scopeOf });
export const newKeyJson = jsonOf(newApiKey, shownNewKey, { scope: scopeOf });
export const keyDetailJson = jsonOf(apiKeyDetail, shownKeyDetail, { scope: scopeOf });

export const keyFromRow = (row: KeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  tenantId: row.tenant_id ?? undefined,
  createdAt: row.created_at,
  createdBy: row.created_by,
  parentId: row.parent_id ?? undefined,
  lastUsedAt: row.last_used_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
});

const auditEvent = z
  .object({
    id: uuid,
    at: time,
    kind: textOf<EventKind>().meta({ example: 'connection.paused' }),
    actor: z.string().meta({ description: 'Who made the change.', example: 'key:deploy' }),
    keyId: maybeUuid.meta({
      description: 'The API key used, directly or through a session.',
    }),
    reason: maybeText,
    tenantId: maybeUuid,
    connectionId: maybeUuid,
    jobId: maybeUuid,
    detail: maybe(z.record(z.string(), z.unknown())),
  })
  .meta({ id: 'AuditEvent' });
/** A change or refusal in the audit log. */
export interface AuditEvent extends z.output<typeof auditEvent> {}

export const auditEventJson = jsonOf(auditEvent);

const connectionEvent = auditEvent.omit({ id: true, tenantId: true, connectionId: true, detail: true });
/** An audit event of one connection. */
export interface ConnectionEvent extends z.output<typeof connectionEvent> {}

export const connectionEventJson = jsonOf(connectionEvent);

export const connectionEventFromRow = (row: EventRow): ConnectionEvent => ({
  at: row.created_at,
  kind: row.kind,
  actor: row.actor,
  keyId: row.key_id ?? undefined,
  reason: row.reason ?? undefined,
  jobId: row.job_id ?? undefined,
});

export const auditEventFromRow = (row: EventWithDetail, json: ReadJson): AuditEvent => ({
  ...connectionEventFromRow(row),
  id: row.id,
  tenantId: row.tenant_id ?? undefined,
  connectionId: row.connection_id ?? undefined,
  detail: row.detail === null ? undefined : (json(row.detail) as Record<string, unknown>),
});

export const meJson = jsonOf(
  z
    .object({
      scope: scopes,
      tenantId: maybeUuid,
      tenantName: maybeText,
      actor: z.string().meta({ description: 'Name in the audit log.' }),
      version: z.string().meta({ description: 'Version of the service.' }),
    })
    .meta({ id: 'Me' }),
);
