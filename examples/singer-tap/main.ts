import { createSyncline } from 'syncline';
import { singer } from 'syncline/connectors';
import { z } from 'zod';

const billing = singer({
  provider: 'billing',
  name: 'Billing',
  // Any tap in any language, such as /opt/taps/billing/bin/tap-billing.
  command: [process.execPath, `${import.meta.dirname}/tap.mjs`],
  // Only these fields of a connection's config reach the tap.
  configSchema: z.object({ invoices: z.number() }),
});

const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [billing],
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();

const tenant = await syncline.tenants.create({ name: 'Northwind' });
const connection = await syncline.connections.create({
  tenantId: tenant.id,
  provider: 'billing',
  config: { invoices: 3 },
});
await syncline.tick();
console.log('First sync:', (await syncline.drain()).signals, 'signals');

// Two more invoices. The tap continues from its last STATE, which is the cursor of the connection.
await syncline.connections.setConfig(connection.id, { invoices: 5 });
await syncline.connections.trigger(connection.id);
console.log('Second sync:', (await syncline.drain()).signals, 'signals');

const { items } = await syncline.signals.read({ connectionId: connection.id });
for (const { kind, payload } of items) console.log(kind, JSON.stringify(payload));

await syncline.stop();
