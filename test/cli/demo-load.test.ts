import { describe, expect, it } from 'vitest';
import { makeDemo } from '../../src/dev/demo.ts';
import { demoConnectors } from '../../src/dev/demo-connectors.ts';
import { newKey } from '../credentials/handles.ts';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { useProviders } from '../support/provider-server.ts';

const database = useDatabase();
const providers = useProviders();
const credentials = { keys: [newKey()] };
const cli = useCli(database, `export default ${JSON.stringify({ credentials })}`);

const countLoad = async () => {
  const [row] = await database.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM connections WHERE external_id LIKE 'load-%'`,
  );
  return row?.n;
};

describe('syncline demo load', () => {
  it('demo load: rejects a database without demo data', async () => {
    await database.connect({ metadata: { demo: 'no' } });
    expectFailure(await cli.run('demo', 'load'), /There is no demo in this database.*syncline dev/);
    expect(await countLoad()).toBe(0);
  });

  it('demo load: rejects numbers out of range', async () => {
    expectFailure(await cli.run('demo', 'load', '--connections', '0'), /--connections must be .*, got 0/);
    expectFailure(await cli.run('demo', 'load', '--interval', '59'), /--interval must be .*, got 59/);
  });

  it('demo load: spreads connections over all tenants, providers and the interval, and prints progress', async () => {
    await database.sql('TRUNCATE tenants CASCADE');
    await makeDemo(database.engine({ credentials }), Date.now());
    const before = Date.now();
    const { code, stdout, stderr } = await cli.run(
      'demo',
      'load',
      '--connections',
      '1200',
      '--interval',
      '120',
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Added 1,200 connections with an interval of 120 s: about 10 runs per second\.$/m,
    );
    expect(stdout).toMatch(/To delete them: npx syncline demo unload/);
    expect(stderr.trim().split('\n')).toEqual([
      '… 500 of 1,200 connections added',
      '… 1000 of 1,200 connections added',
      '… 1200 of 1,200 connections added',
    ]);
    const groups = await database.sql<{ n: number; names: number; first: Date; last: Date }>(
      `SELECT count(*)::int AS n, count(DISTINCT external_id)::int AS names, min(due_at) AS first, max(due_at) AS last
       FROM connections WHERE external_id LIKE 'load-%' GROUP BY tenant_id, provider_slug`,
    );
    expect(groups).toHaveLength(20);
    const [shared] = await database.sql<{ max: number }>(
      `SELECT max(n)::int AS max FROM (SELECT count(*) AS n FROM connections WHERE external_id LIKE 'load-%' GROUP BY credential_id) AS uses`,
    );
    // Slack allows 50 requests per minute.
    expect(shared?.max).toBe(25);
    for (const { n, names, first, last } of groups) {
      expect({ n, names }).toEqual({ n: 60, names: 60 });
      expect(first.getTime()).toBeGreaterThanOrEqual(before);
      expect(last.getTime() - first.getTime()).toBeGreaterThan(100_000);
    }
  });

  it('demo load: the demo connectors sync the added connections', async () => {
    providers.nowMs = Date.now();
    const { url } = await providers.start();
    const engine = database.engine({ connectors: demoConnectors(url), credentials });
    const some = await database.sql<{ id: string }>(
      `SELECT id FROM connections WHERE external_id IN (${Array.from({ length: 40 }, (_, i) => `'load-${i + 1}'`)})`,
    );
    for (const { id } of some) await engine.connections.trigger(id);
    expect(await engine.drain()).toMatchObject({ failed: 0 });
    const synced = await database.sql(
      `SELECT DISTINCT c.provider_slug FROM signals JOIN connections c ON c.id = connection_id WHERE external_id LIKE 'load-%'`,
    );
    expect(synced).toHaveLength(4);
  });

  it('demo load: continues numbering after an earlier load', async () => {
    expect(await cli.json('demo', 'load', '--connections', '3')).toEqual({ added: 3, interval_seconds: 60 });
    const names = await database.sql<{ external_id: string }>(
      `SELECT external_id FROM connections WHERE external_id LIKE 'load-120_' ORDER BY external_id`,
    );
    expect(names.map((row) => row.external_id)).toEqual(['load-1200', 'load-1201', 'load-1202', 'load-1203']);
  });

  it('demo load: unload deletes only the connections added by load, with their jobs and signals', async () => {
    await database.sql(`INSERT INTO tenants (id, name) VALUES ($1, 'a tenant')`, [tenant]);
    await database.sql(
      `INSERT INTO connections (tenant_id, provider_slug, external_id) VALUES ($1, 'github', 'load-balancer')`,
      [tenant],
    );
    const { code, stdout } = await cli.runProcess('demo', 'unload');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'Deleted 1,203 connections, with their jobs and signals.\n',
    });
    const left = await database.sql(`SELECT external_id FROM connections WHERE external_id LIKE 'load-%'`);
    expect(left).toEqual([{ external_id: 'load-balancer' }]);
    const [demo] = await database.sql<{ n: number }>('SELECT count(*)::int AS n FROM connections');
    expect(demo?.n).toBe(25);
    expect(await database.sql('SELECT FROM signals')).toEqual([]);
    expect(await database.sql(`SELECT FROM credentials WHERE name LIKE 'load-%'`)).toEqual([]);
    expect((await database.sql('SELECT FROM credentials')).length).toBeGreaterThan(10);
    expect(await cli.json('demo', 'unload')).toEqual({ deleted: 0 });
  });
});
