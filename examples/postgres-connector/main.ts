import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createSyncline } from 'syncline';
import { postgres } from 'syncline/connectors';

// The customer's database. This example uses one database for both, in different schemas.
const url = new URL(process.env.DATABASE_URL ?? 'postgres://localhost/example');
const shop = new pg.Client({ connectionString: url.href });
await shop.connect();
await shop.query(`
  DROP SCHEMA IF EXISTS example_shop CASCADE; -- so that the example can run again
  CREATE SCHEMA example_shop;
  CREATE TABLE example_shop.orders (id int PRIMARY KEY, total numeric NOT NULL, updated_at timestamptz NOT NULL);
  CREATE INDEX ON example_shop.orders (updated_at, id); -- each page then reads only its own rows
  INSERT INTO example_shop.orders SELECT n, n * 10, '2025-01-06T09:00:00Z' FROM generate_series(1, 5) AS n;
`);

const syncline = createSyncline({
  database: url.href,
  // Allows private addresses. Keep the default, `public`, if customers choose the host.
  connectors: [postgres({ network: 'any' })],
  // Encrypts stored credentials. In production, generate it once with `syncline credentials keygen` and set
  // SYNCLINE_CREDENTIALS_KEYS in every process.
  credentials: { keys: [`example:${randomBytes(32).toString('base64')}`] },
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();

const tenant = await syncline.tenants.create({ name: 'Northwind' });
const credential = await syncline.credentials.create({
  tenantId: tenant.id,
  provider: 'postgres',
  secret: {
    type: 'basic',
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  },
});
const connection = await syncline.connections.create({
  tenantId: tenant.id,
  provider: 'postgres',
  credentialId: credential.id,
  config: {
    host: url.hostname,
    port: Number(url.port || 5432),
    database: url.pathname.slice(1),
    ssl: 'off', // default: `verify`
    table: 'example_shop.orders',
    cursorColumn: 'updated_at',
    keyColumns: ['id'],
  },
});

await syncline.tick();
console.log('First sync:', (await syncline.drain()).signals, 'rows');

await shop.query(
  `UPDATE example_shop.orders SET total = 99, updated_at = '2025-01-06T10:00:00Z' WHERE id = 3`,
);
await syncline.connections.trigger(connection.id);
console.log('After an update:', (await syncline.drain()).signals, 'row');

const { items } = await syncline.signals.list({ connectionId: connection.id, limit: 1 });
for (const { kind, payload } of items) console.log(kind, JSON.stringify(payload));

await shop.end();
await syncline.stop();
