import { z } from 'zod';
import { secretTypes } from '../contract/credential.ts';
import type { CredentialRow } from '../store/credentials.ts';
import { jsonOf, maybeText, maybeTime, providerText, time, uuid } from '../values/model.ts';

const credential = z
  .object({
    id: uuid,
    tenantId: uuid,
    provider: providerText,
    name: maybeText,
    kind: z.enum(secretTypes),
    generation: z.int().meta({ description: 'Number of changes of the secret.' }),
    expiresAt: maybeTime.meta({ description: 'Expiry of the access token.' }),
    refusedAt: maybeTime.meta({ description: 'Since when the provider refuses to refresh it.' }),
    refusedReason: maybeText,
    refreshedAt: maybeTime,
    connections: z.int().meta({ description: 'Number of connections that use it; 1000 means 1000 or more.' }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'StoredCredential' });
/** A credential without its secret. */
export interface StoredCredential extends z.output<typeof credential> {}

export const credentialJson = jsonOf(credential);

export const credentialFromRow = (row: CredentialRow): StoredCredential => ({
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

const authorization = z.object({
  link: z.string().meta({
    description: 'Secret of the consent: 256 random bits, the parameter `link` of its page.',
  }),
  expiresAt: time,
});
/** A link to a consent, valid once. */
export interface Authorization extends z.output<typeof authorization> {}

/** With the address of the consent page, which only the server knows. */
export const authorizationJson = jsonOf(
  authorization
    .extend({ authorizationUrl: z.string().meta({ description: 'The consent page.' }) })
    .meta({ id: 'Authorization' }),
);
