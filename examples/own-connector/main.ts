import { createSyncline } from 'syncline';
import { startTracker } from './provider.ts';
import { tracker } from './tracker.ts';

const provider = await startTracker();
const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker],
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();

const tenant = await syncline.tenants.create({ name: 'Northwind' });
const connection = await syncline.connections.create({
  tenantId: tenant.id,
  provider: 'tracker',
  intervalSeconds: 300,
  config: { baseUrl: provider.url },
});

// One tick and one drain, so that the program ends. A service calls `syncline.start()`, which repeats both.
await syncline.tick();
const first = await syncline.drain();
console.log(`First sync: ${first.succeeded} jobs stored ${first.signals} signals.`);

provider.close(7);
await syncline.connections.trigger(connection.id); // instead of waiting for the interval
const second = await syncline.drain();
console.log(`After a change: ${second.succeeded} job stored ${second.signals} signal.`);

const { items } = await syncline.signals.list({ connectionId: connection.id, limit: 3 });
for (const { kind, occurredAt, payload } of items)
  console.log(occurredAt.toISOString(), kind, JSON.stringify(payload));

await syncline.stop();
provider.stop();
