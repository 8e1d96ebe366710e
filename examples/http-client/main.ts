import { startService } from './service.ts';

const service = await startService();

// From here on, only HTTP: a client in any language works the same way.
async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.ok) return (await response.json()) as T;
  // Errors are problem documents (RFC 9457) with a stable code.
  const { status, code, detail } = (await response.json()) as Record<string, unknown>;
  throw new Error(`${status} ${code}: ${detail}`);
}

interface Feed {
  items: { kind: string; payload: unknown }[];
  next_cursor: string;
}

try {
  const tenant = await call<{ id: string }>('POST', '/v1/tenants', { name: 'Northwind' });
  await call('POST', '/v1/connections', {
    tenant_id: tenant.id,
    provider: 'tracker',
    interval_seconds: 30,
  }).catch((error: Error) => console.log('Refused:', error.message));

  const connection = await call<{ id: string; status: string }>('POST', '/v1/connections', {
    tenant_id: tenant.id,
    provider: 'tracker',
    interval_seconds: 300,
  });
  console.log('Connection:', connection.status);
  await call('POST', `/v1/connections/${connection.id}/trigger`, {});

  let count = 0;
  while (count < 25) {
    // Waits up to 30 s for new signals.
    const { items, next_cursor } = await call<Feed>('GET', '/v1/signals/feed?consumer=search-index&wait=30');
    count += items.length;
    // Acknowledges them. After a crash before this line, they are delivered again.
    await call('PUT', '/v1/consumers/search-index', { after: next_cursor });
  }
  console.log('Received', count, 'signals.');
} finally {
  await service.stop();
}
