import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { syncline } from './syncline.ts';

process.env.PORT = '0'; // any free port
const { server } = await import('./server.ts');
if (!server.listening) await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const tenant = await syncline.tenants.create({ name: 'Northwind' });
await syncline.connections.create({ tenantId: tenant.id, provider: 'tracker', intervalSeconds: 300 });

async function request(path: string, init?: RequestInit): Promise<string> {
  const response = await fetch(`${url}${path}`, init);
  const text = await response.text();
  console.log(init?.method ?? 'GET', path, response.status);
  return text;
}

console.log(await request('/'));
const page = await request('/admin/sync');
console.log('The dashboard is below', /<base href="([^"]+)">/.exec(page)?.[1]);
await request('/admin/sync/v1/connections');

const headers = { cookie: 'user=admin@example.com', 'x-syncline-request': '1' };
const connections = JSON.parse(await request('/admin/sync/v1/connections', { headers }));
console.log('With the session of the application:', connections.items.length, 'connection');
await request('/admin/sync/v1/tenants', {
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'Contoso' }),
});

process.kill(process.pid, 'SIGTERM');
await once(server, 'close');
console.log('Stopped');
