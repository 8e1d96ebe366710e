import { randomBytes } from 'node:crypto';
import { createSyncline } from 'syncline';
import { addCustomer } from './customers.ts';
import { startServer } from './server.ts';
import { tracker } from './tracker.ts';

const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker],
  // Encrypts stored credentials. In production, generate it once with `syncline credentials keygen` and set
  // SYNCLINE_CREDENTIALS_KEYS in every process.
  credentials: { keys: [`example:${randomBytes(32).toString('base64')}`] },
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();
const server = await startServer(syncline);

const northwind = await addCustomer(syncline, 'Northwind', 'northwind-token');
const kestrel = await addCustomer(syncline, 'Kestrel', 'kestrel-token');
await syncline.tick();
const { succeeded, requeued } = await syncline.drain();
console.log(`${succeeded} pages stored, ${requeued} waiting for its budget`);

async function get(path: string, key: string): Promise<string> {
  const response = await fetch(`${server.url}/${path}`, { headers: { authorization: `Bearer ${key}` } });
  return `${response.status} ${await response.text()}`;
}

for (const [name, { key }] of Object.entries({ northwind, kestrel })) {
  console.log(`${name} signals:`, await get('signals', key));
  console.log(`${name} budgets:`, await get('budgets', key));
}
console.log('own connection:', await get(`connections/${northwind.connectionId}`, northwind.key));
console.log('connection of another tenant:', await get(`connections/${northwind.connectionId}`, kestrel.key));
console.log('unknown key:', await get('signals', 'syn_unknown'));

server.stop();
await syncline.stop();
