import { expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { openDatabase } from '../../src/store/database.ts';
import { useDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

const database = useDatabase();

it('pool: callers waiting for a connection when the pool breaks get one of the next pool', async () => {
  const network = await startProxy(database.url);
  const config = { url: network.url, notifyUrl: undefined, schema: 'syncline', poolSize: 1 };
  const db = openDatabase(config, { ports: systemPorts, onConnectionLost: () => {}, onSkew: () => {} });
  const busy = db.query('SELECT pg_sleep(600)').catch((error: Error) => error.message);
  await until('the only connection is busy', async () => {
    const rows = await database.sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'SELECT pg_sleep%'`,
    );
    return rows.length === 1;
  });
  const waiting = [db.query('SELECT 1 AS one'), db.query('SELECT 2 AS two')];
  network.reset();
  await network.heal();
  expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ two: 2 }]]);
  expect(await busy).toMatch(/terminated|ECONNRESET/);
  await db.close();
});
