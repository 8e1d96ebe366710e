import pg from 'pg';
import { createSyncline, type FeedSignal } from 'syncline';
import { tracker } from './tracker.ts';

const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker],
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();
const tenant = await syncline.tenants.create({ name: 'Northwind' });
await syncline.connections.create({ tenantId: tenant.id, provider: 'tracker', intervalSeconds: 300 });
await syncline.tick();
await syncline.drain();

// The application's own tables, in this or in another database.
const db = new pg.Client({
  connectionString: process.env.DATABASE_URL,
  options: '-c search_path=example_app',
});
await db.connect();
await db.query(`
  DROP SCHEMA IF EXISTS example_app CASCADE; -- so that the example can run again
  CREATE SCHEMA example_app;
  CREATE TABLE open_issues (project text PRIMARY KEY, count int NOT NULL);
  CREATE TABLE feed_position (cursor text NOT NULL);
  INSERT INTO feed_position VALUES ('beginning');
`);

/** Counting is not idempotent: a signal that is applied twice, or not at all, makes the number wrong. */
async function apply({ payload }: FeedSignal): Promise<void> {
  const { project } = payload as { project: string };
  await db.query(
    `INSERT INTO open_issues VALUES ($1, 1) ON CONFLICT (project) DO UPDATE SET count = open_issues.count + 1`,
    [project],
  );
}

/** Applies the next page of signals and stores its cursor in the same transaction. Returns the page size. */
async function consumePage(beforeCommit = () => {}): Promise<number> {
  await db.query('BEGIN');
  try {
    // The row lock makes a second consumer process wait for the cursor of the first.
    const position = await db.query<{ cursor: string }>('SELECT cursor FROM feed_position FOR UPDATE');
    const { items, nextCursor } = await syncline.signals.read({
      tenantId: tenant.id, // omit it to read the signals of all tenants
      after: position.rows[0]?.cursor,
      limit: 10,
    });
    for (const signal of items) await apply(signal);
    await db.query('UPDATE feed_position SET cursor = $1', [nextCursor]);
    beforeCommit();
    await db.query('COMMIT');
    return items.length;
  } catch (error) {
    await db.query('ROLLBACK');
    throw error;
  }
}

async function print(when: string): Promise<void> {
  const { rows } = await db.query('SELECT project, count FROM open_issues ORDER BY project');
  console.log(`${when}:`, rows.map(({ project, count }) => `${project} ${count}`).join(', '));
}

await consumePage();
await print('After the first page');

// A crash before the commit rolls back the counts together with the cursor.
await consumePage(() => {
  throw new Error('crash');
}).catch(() => {});
await print('After a crash in the second page');

// A service repeats this forever and pauses for a second after an empty page.
while ((await consumePage()) > 0);
await print('After all signals');

await db.end();
await syncline.stop();
