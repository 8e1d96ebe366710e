import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Syncline, SynclineError } from 'syncline';

/** Your API. The key decides the tenant: no route takes a tenant id from the request. */
export async function startServer(syncline: Syncline) {
  const server = createServer(async (request, response) => {
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    try {
      const key = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
      const identity = await syncline.access.authenticate(key);
      if (!identity) return send(401, { error: 'unknown key' });
      // Its statements run on relations that contain no rows of other tenants.
      const api = syncline.as(identity);
      const [, resource, id] = (request.url ?? '').split('/');
      if (resource === 'signals') {
        const { items } = await api.signals.list({ limit: 100 });
        send(200, { signals: items.length });
      } else if (resource === 'connections' && id) {
        const { status, tenantName } = await api.connections.get(id);
        send(200, { status, tenant: tenantName });
      } else if (resource === 'budgets') {
        const { items } = await api.budgets.list();
        send(
          200,
          items.map(({ name, limit, left }) => ({ name, limit, left })),
        );
      } else {
        send(404, { error: 'not found' });
      }
    } catch (error) {
      const isMissing = error instanceof SynclineError && error.code === 'NOT_FOUND';
      send(isMissing ? 404 : 500, { error: isMissing ? 'not found' : 'internal error' });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}
