import { randomBytes } from 'node:crypto';
import { createSyncline } from 'syncline';
import { httpFromYaml } from 'syncline/connectors';
import { startTracker } from './provider.ts';

const token = 'open-sesame';
const provider = await startTracker(token);

const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [httpFromYaml('./tracker.yaml')], // relative to the working directory
  // Encrypts stored credentials. In production, generate it once with `syncline credentials keygen` and set
  // SYNCLINE_CREDENTIALS_KEYS in every process.
  credentials: { keys: [`example:${randomBytes(32).toString('base64')}`] },
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();

const tenant = await syncline.tenants.create({ name: 'Northwind' });
const credential = await syncline.credentials.create({
  tenantId: tenant.id,
  provider: 'tracker',
  secret: { type: 'api_key', key: token },
});
const connection = await syncline.connections.create({
  tenantId: tenant.id,
  provider: 'tracker',
  credentialId: credential.id,
  config: { url: provider.url, project: 'apollo' },
});

await syncline.tick();
const { signals } = await syncline.drain();
console.log(`Stored ${signals} signals.`);

for (const kind of ['issue.open', 'issue.closed', 'label']) {
  const { items } = await syncline.signals.list({ connectionId: connection.id, kind, limit: 100 });
  console.log(kind.padEnd(12), String(items.length).padStart(2), JSON.stringify(items.at(-1)?.payload));
}

await syncline.stop();
provider.stop();
