import { beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../../src/index.ts';
import { startBlockingEngine } from '../../support/blocking-engine.ts';
import { connector, signal } from '../../support/connector.ts';
import { tenant, useDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const unknownId = '00000000-0000-4000-8000-00000000dead';

describe('connections.cancel', () => {
  it('cancel: ends queued and running jobs of the connection, which stays active', async () => {
    const [id, other] = [await connect(), await connect()];
    const running = await job(id);
    const { engine, startedRuns, untilStarted } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    const queued = await job(id, { job_type: 'full' });
    const later = await job(id, { job_type: 'webhook', scheduled_at: '2099-01-01T00:00:00Z' });
    await job(other, { scheduled_at: '2099-01-01T00:00:00Z' });
    const cancelled = await engine.connections.cancel(id, { actor: 'anna', reason: 'too much' });
    expect(cancelled.toSorted()).toEqual([running, queued, later].toSorted());
    expect(await drained).toMatchObject({ claimed: 1, succeeded: 0, lost: 1 });
    expect(startedRuns[0]?.abortSignal.reason).toMatchObject({
      message: 'The run was aborted: its job was cancelled.',
    });
    expect(
      await sql('SELECT status, count(*)::int AS n FROM sync_jobs GROUP BY status ORDER BY status'),
    ).toEqual([
      { status: 'cancelled', n: 3 },
      { status: 'queued', n: 1 },
    ]);
    expect((await engine.connections.get(id)).status).toBe('active');
    expect(await sql('SELECT FROM signals')).toHaveLength(0);
    const events = await engine.connections.events(id);
    expect(events.map(({ kind, actor, reason }) => [kind, actor, reason])).toEqual(
      Array(3).fill(['job.cancelled', 'anna', 'too much']),
    );
    expect(events.map(({ jobId }) => jobId).toSorted()).toEqual(cancelled.toSorted());
  });

  it('cancel: without pending jobs it returns an empty list', async () => {
    const id = await connect();
    await job(id, { status: 'succeeded' });
    const engine = database.engine();
    expect(await engine.connections.cancel(id)).toEqual([]);
    expect(await sql('SELECT FROM events')).toHaveLength(0);
    await expect(engine.connections.cancel(unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('connections.delete', () => {
  it('delete: deletes the connection with its jobs, attempts and signals; its events stay', async () => {
    const [id, other] = [await connect(), await connect()];
    await sql(`UPDATE connections SET external_id = 'acme' WHERE id = $1`, [id]);
    for (const connection of [id, other]) await job(connection);
    const engine = database.engine({
      connectors: [
        connector(({ log }) => {
          log.info('hello');
          return { signals: [signal(1)] };
        }),
      ],
    });
    await engine.drain();
    expect(await sql('SELECT FROM attempts')).toHaveLength(2);
    await engine.connections.delete(id, { actor: 'anna', reason: 'the customer left' });
    for (const table of ['sync_jobs', 'signals'])
      expect(await sql(`SELECT connection_id FROM ${table}`)).toEqual([{ connection_id: other }]);
    expect(await sql('SELECT id FROM connections')).toEqual([{ id: other }]);
    expect(
      await sql('SELECT j.connection_id FROM attempts a LEFT JOIN sync_jobs j ON j.id = job_id'),
    ).toEqual([{ connection_id: other }]);
    expect((await engine.audit.list({ connectionId: id })).items).toEqual([
      expect.objectContaining({
        kind: 'connection.deleted',
        actor: 'anna',
        reason: 'the customer left',
        tenantId: tenant,
        connectionId: id,
        detail: { provider: 'github', externalId: 'acme' },
      }),
    ]);
    for (const attempt of [engine.connections.get, engine.connections.delete])
      await expect(attempt(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('delete: aborts the current run, which stores nothing', async () => {
    const id = await connect();
    await job(id);
    const { engine, startedRuns, untilStarted } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    await engine.connections.delete(id);
    expect(await drained).toMatchObject({ claimed: 1, succeeded: 0, lost: 1, signals: 0 });
    expect(startedRuns[0]?.abortSignal.aborted).toBe(true);
    for (const table of ['connections', 'sync_jobs', 'signals', 'attempts'])
      expect(await sql(`SELECT FROM ${table}`)).toHaveLength(0);
  });

  it('delete: deletes more signals than one batch', async () => {
    const [id, other] = [await connect(), await connect()];
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'github', CASE WHEN n = 0 THEN $2::uuid ELSE $3::uuid END, 'k', now(), '{}' FROM generate_series(0, 12000) n`,
      [tenant, other, id],
    );
    const engine = database.engine();
    expect(await engine.connections.delete(id)).toMatchObject({
      state: 'deleting',
      estimatedSignals: 12_000,
    });
    const isDeleted = async () => (await engine.connections.deletion(id)).state === 'deleted';
    await until('the deletion is finished', isDeleted);
    expect(await sql('SELECT connection_id FROM signals')).toEqual([{ connection_id: other }]);
  });

  it('delete: a connection of another tenant is NOT_FOUND', async () => {
    const id = await connect();
    const stranger = database.engine().as({ tenantId: unknownId, actor: 'stranger' });
    await expect(stranger.connections.delete(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await sql('SELECT status FROM connections')).toEqual([{ status: 'active' }]);
    expect(await sql('SELECT FROM events')).toHaveLength(0);
  });

  it('delete: an interrupted removal leaves the connection disabled and can be retried', async () => {
    const id = await connect();
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload) VALUES ($1, 'github', $2, 'k', now(), '{}')`,
      [tenant, id],
    );
    const failing = database.engine({
      ports: {
        ...systemPorts,
        query: (statement, send) =>
          statement.includes('DELETE FROM "syncline".connections')
            ? Promise.reject(new Error('cut off'))
            : send(),
      },
    });
    await expect(failing.connections.delete(id)).rejects.toThrow('cut off');
    const engine = database.engine();
    expect((await engine.connections.get(id)).status).toBe('disabled');
    await engine.connections.delete(id);
    // The first engine retries in the background and may hold the deletion.
    const isDeleted = async () => (await sql('SELECT FROM connections')).length === 0;
    await until('the connection is deleted', isDeleted);
  });
});
