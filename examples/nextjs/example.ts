import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getSyncline } from './lib/syncline';

const program = fileURLToPath(import.meta.resolve('next/dist/bin/next'));
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NEXT_MANUAL_SIG_HANDLE: 'true' };
const next = (...args: string[]) =>
  spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 2, 2] });

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const syncline = getSyncline();
await syncline.migrate();
const tenant = await syncline.tenants.create({ name: 'Northwind' });
await syncline.connections.create({ tenantId: tenant.id, provider: 'tracker', intervalSeconds: 300 });
await syncline.stop();

const [code] = await once(next('build'), 'exit');
console.log('next build exited with', code);
const port = await freePort();
const server = next('start', '--port', String(port));
process.once('exit', () => server.kill());
const url = `http://127.0.0.1:${port}`;
const isReady = () =>
  fetch(`${url}/admin/sync/readyz`)
    .then((response) => response.ok)
    .catch(() => false);
while (!(await isReady())) await setTimeout(200);

async function request(path: string, init?: RequestInit): Promise<string> {
  const response = await fetch(`${url}${path}`, init);
  const text = await response.text();
  console.log(init?.method ?? 'GET', path, response.status);
  return text;
}

await request('/');
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

server.kill();
await once(server, 'exit');
console.log('Stopped');
