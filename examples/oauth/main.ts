import { randomBytes } from 'node:crypto';
import { createSyncline } from 'syncline';
import { startProvider } from './provider.ts';
import { startServer } from './server.ts';
import { tracker } from './tracker.ts';

const provider = await startProvider();
const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker(provider.url)],
  // Encrypts stored tokens. In production, generate it once with `syncline credentials keygen` and set
  // SYNCLINE_CREDENTIALS_KEYS in every process.
  credentials: { keys: [`example:${randomBytes(32).toString('base64')}`] },
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();
const server = await startServer(syncline);

const tenant = await syncline.tenants.create({ name: 'Northwind' });
const { id, status } = await syncline.connections.create({ tenantId: tenant.id, provider: 'tracker' });
console.log('Created:', status);

console.log('The browser ends at', await browse(`${server.url}/connect?connection=${id}`));
console.log('After the consent:', (await syncline.connections.get(id)).status);

// The consent queued a run.
const first = await syncline.drain();
console.log('First run:', first.signals, 'new signal');

// The next run refreshes the token: it is rejected here, or expires in less than five minutes.
provider.revokeAccessToken();
await syncline.connections.trigger(id);
const second = await syncline.drain();
console.log('Run with a revoked access token:', second.succeeded, 'succeeded');
console.log('Token requests:', provider.grants.join(', '));

server.stop();
provider.stop();
await syncline.stop();

/** A browser with one cookie: follows redirects and returns the last page. */
async function browse(url: string, cookie = ''): Promise<string> {
  const response = await fetch(url, {
    redirect: 'manual',
    headers: url.startsWith(server.url) ? { cookie } : {},
  });
  const next = response.headers.get('location');
  return next
    ? browse(next, response.headers.get('set-cookie')?.split(';')[0] ?? cookie)
    : await response.text();
}
