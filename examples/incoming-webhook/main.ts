import { createHmac, randomBytes } from 'node:crypto';
import { createSyncline } from 'syncline';
import { startServer } from './server.ts';
import { issues, tracker } from './tracker.ts';

const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker],
  // Encrypts the webhook secret. In production, generate it once with `syncline credentials keygen` and set
  // SYNCLINE_CREDENTIALS_KEYS in every process.
  credentials: { keys: [`example:${randomBytes(32).toString('base64')}`] },
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();
const server = await startServer(syncline);

const tenant = await syncline.tenants.create({ name: 'Northwind' });
const connection = await syncline.connections.create({ tenantId: tenant.id, provider: 'tracker' });
await syncline.tick();
console.log('The first poll stored', (await syncline.drain()).signals, 'signal.');

// Register this address and secret at the provider. The secret is returned only here.
const { path, secret } = await syncline.webhooks.create(connection.id);

/** What the provider does when an issue is opened. */
async function deliver(signedWith: string): Promise<number> {
  const body = JSON.stringify({ action: 'opened' });
  const signature = createHmac('sha256', signedWith).update(body).digest('hex');
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tracker-signature': `sha256=${signature}` },
    body,
  });
  return response.status;
}

issues.push({ id: 2, title: 'Issue 2' });
console.log('A forged delivery gets', await deliver('a wrong secret'));
console.log('A signed delivery gets', await deliver(secret));
console.log('Its repetition gets', await deliver(secret));

// The delivery is a hint: it triggers a sync now instead of at the next interval.
const { succeeded, signals } = await syncline.drain();
console.log(`The hints caused ${succeeded} job, which stored ${signals} signal.`);

server.stop();
await syncline.stop();
