import type { Syncline } from 'syncline';

/** What a sign-up does: a tenant, its credential, its connection, and a key for its calls of your API. */
export async function addCustomer(syncline: Syncline, name: string, token: string) {
  const { id: tenantId } = await syncline.tenants.create({ name });
  // The actor is recorded with every change (`syncline audit`).
  const api = syncline.as({ tenantId, actor: `signup:${name}` });
  const credential = await api.credentials.create({
    tenantId,
    provider: 'tracker',
    secret: { type: 'api_key', key: token },
  });
  const connection = await api.connections.create({
    tenantId,
    provider: 'tracker',
    credentialId: credential.id,
  });
  const { key } = await api.keys.create({ name: 'default' });
  return { tenantId, connectionId: connection.id, key };
}
