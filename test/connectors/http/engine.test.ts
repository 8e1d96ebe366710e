import { describe, expect, it } from 'vitest';
import { http } from '../../../src/connectors/index.ts';
import { tenant, useDatabase } from '../../support/database.ts';
import { useJsonApis } from '../../support/providers/json-api.ts';
import { describeApi } from './described.ts';

const database = useDatabase();
const startApi = useJsonApis();

describe('http: in the engine', () => {
  it('http: full and incremental syncs on Postgres store each version once', async () => {
    const api = await startApi({ pagination: 'page', sort: 'ascending' });
    api.fill(1234, 3);
    api.options.pageSize = 100;
    const engine = database.engine({ connectors: [http(describeApi(api))] });
    await engine.connections.create({ tenantId: tenant, provider: 'tracker', intervalSeconds: 300 });
    const [connection] = await database.sql<{ id: string }>('SELECT id FROM connections');
    const id = (connection as { id: string }).id;

    await database.sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at) VALUES ($1, 'tracker', $2, 'incremental', now())`,
      [tenant, id],
    );
    await engine.drain();
    const count = async () =>
      Number((await database.sql<{ n: string }>('SELECT count(*) AS n FROM signals'))[0]?.n);
    expect(await count()).toBe(1234);

    api.edit(7);
    api.edit(8, { deleted: true });
    await database.sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at) VALUES ($1, 'tracker', $2, 'incremental', now())`,
      [tenant, id],
    );
    await engine.drain();
    expect(await count()).toBe(1236);
    expect(
      await database.sql(`SELECT kind FROM signals WHERE dedupe_key LIKE 'items/8@%' ORDER BY occurred_at`),
    ).toEqual([{ kind: 'item.closed' }, { kind: 'item.closed.deleted' }]);
    const [stored] = await database.sql<{ cursor: unknown }>(
      `SELECT metadata #> '{sync,cursor}' AS cursor FROM connections`,
    );
    expect(stored?.cursor).toMatchObject({ streams: { items: { watermark: '2025-01-01T00:06:54.000Z' } } });
  });
});
