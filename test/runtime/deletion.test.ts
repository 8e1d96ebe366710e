import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { type Deletion, type Ports, type Syncline, systemPorts } from '../../src/index.ts';
import { deleteBatch, deletionBatch } from '../../src/runtime/deletion.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startService } from '../http/service.ts';
import { startBlockingEngine } from '../support/blocking-engine.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, job, connect } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';
beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE api_keys, sessions');
});

const large = 30_000;

async function connectionWith(signals: number): Promise<string> {
  const id = await connect();
  await sql(
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT $1, 'github', $2, 'k', now(), '{}' FROM generate_series(1, $3) n`,
    [tenant, id, signals],
  );
  return id;
}

const signalsOf = async (id: string) =>
  (await sql<{ n: number }>('SELECT count(*)::int AS n FROM signals WHERE connection_id = $1', [id]))[0]?.n;

/** An engine that marks connections as deleted but runs no batches. */
const withoutBatches = () =>
  database.engine({
    ports: {
      ...systemPorts,
      query: (statement, send) =>
        statement.includes('FOR UPDATE SKIP LOCKED') && statement.includes('deletions')
          ? Promise.resolve([] as never)
          : send(),
    },
  });

const finished = (engine: Syncline, id: string) =>
  until(
    'the deletion is finished',
    async () => (await engine.connections.deletion(id)).state === 'deleted',
    120_000,
  );

describe('deletion: a large connection', () => {
  it('deletion: delete() returns early, and the process deletes the signals in the background', async () => {
    const [id, other] = [await connectionWith(large), await connectionWith(3)];
    await job(id, { status: 'succeeded' });
    const engine = database.engine();
    const begun = await engine.connections.delete(id, { actor: 'anna', reason: 'left' });
    expect(begun).toMatchObject({ connectionId: id, state: 'deleting', estimatedSignals: large });
    const seen: Deletion[] = [begun];
    await until(
      'it is finished',
      async () => {
        seen.push(await engine.connections.deletion(id));
        return seen.at(-1)?.state === 'deleted';
      },
      120_000,
    );
    const progress = seen.map(({ deletedSignals }) => deletedSignals);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toMatchObject({ deletedSignals: large, estimatedSignals: large, error: undefined });
    expect(await sql('SELECT id FROM connections')).toEqual([{ id: other }]);
    expect(await signalsOf(other)).toBe(3);
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(0);
    const { items } = await engine.audit.list({ connectionId: id });
    expect(items.map(({ kind, actor, reason }) => [kind, actor, reason])).toEqual([
      ['connection.deleted', 'anna', 'left'],
      ['connection.deletion_started', 'anna', 'left'],
    ]);
  });

  it('deletion: delete() deletes up to one batch of signals itself, and none of a larger connection', async () => {
    const [small, larger] = [await connectionWith(deletionBatch), await connectionWith(deletionBatch + 1)];
    const engine = database.engine();
    expect(await engine.connections.delete(small)).toMatchObject({
      state: 'deleted',
      deletedSignals: deletionBatch,
    });
    expect(await engine.connections.delete(larger)).toMatchObject({ state: 'deleting', deletedSignals: 0 });
    const { items } = await engine.audit.list({ kind: 'connection.deletion_started' });
    expect(items.map(({ connectionId }) => connectionId)).toEqual([larger]);
    await finished(engine, larger);
  });

  it('deletion: a request unschedules the connection and aborts its run immediately', async () => {
    const id = await connectionWith(large);
    await job(id);
    const { engine, startedRuns, untilStarted } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    await withoutBatches().connections.delete(id);
    expect(await drained).toMatchObject({ succeeded: 0, lost: 1, signals: 0 });
    expect(startedRuns[0]?.abortSignal.aborted).toBe(true);
    expect(await engine.tick()).toMatchObject({ scheduled: 0 });
    const [listed] = (await engine.connections.list()).items;
    expect(listed).toMatchObject({ id, status: 'disabled', deletingSince: expect.any(Date) });
    expect((await engine.connections.explain(id)).sentence).toMatch(
      /^Being deleted.*0 of about 30,000 signals/,
    );
  });

  it('deletion: triggers, changes, webhooks and retries of the connection fail with CONFLICT', async () => {
    const id = await connectionWith(large);
    const ended = await job(id, { status: 'failed' });
    const engine = withoutBatches();
    await engine.connections.delete(id);
    const { connections, jobs, webhooks } = engine;
    for (const attempt of [
      () => connections.trigger(id),
      () => connections.pause(id),
      () => connections.resume(id),
      () => connections.setInterval(id, 300),
      () => connections.setCredential(id, null),
      () => connections.rewind(id, { cursor: null }),
      () => jobs.retry(ended),
      () => webhooks.create(id),
    ])
      await expect(attempt()).rejects.toMatchObject({
        code: 'CONFLICT',
        message: `Connection ${id} is being deleted.`,
      });
    expect((await connections.get(id)).status).toBe('disabled');
  });

  it('deletion: after kill -9, a janitor of another process completes the deletion', async () => {
    const id = await connectionWith(large);
    const script = `
      import { createSyncline, systemPorts } from './dist/index.js';
      let batches = 0;
      const query = async (statement, send) => {
        if (statement.startsWith('DELETE FROM "syncline".signals') && ++batches === 3) process.kill(process.pid, 'SIGKILL');
        return send();
      };
      const engine = createSyncline({ database: ${JSON.stringify(database.url)}, ports: { ...systemPorts, query } });
      await engine.connections.delete(${JSON.stringify(id)}, { actor: 'anna' });
      await new Promise(() => setInterval(() => {}, 1000));`;
    const killed = startProcess(process.execPath, ['--input-type=module', '-e', script]);
    await killed.finished;
    const left = (await signalsOf(id)) ?? 0;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(large);
    const engine = database.engine();
    const before = await engine.connections.deletion(id);
    expect(before).toMatchObject({ state: 'deleting', deletedSignals: large - left });
    await Promise.all([
      engine.start({ roles: ['janitor'] }),
      database.engine().start({ roles: ['janitor'] }),
    ]);
    await finished(engine, id);
    expect(await engine.connections.deletion(id)).toMatchObject({ deletedSignals: large });
    expect(await sql('SELECT FROM connections')).toHaveLength(0);
    const { items } = await engine.audit.list({ kind: 'connection.deleted' });
    expect(items.map(({ actor }) => actor)).toEqual(['anna']);
  });

  it('deletion: skips a deletion that another process has locked and continues with the others', async () => {
    const [busy, free] = [await connectionWith(60), await connectionWith(60)];
    const engine = withoutBatches();
    for (const id of [busy, free]) await engine.connections.delete(id);
    const other = await database.session();
    await other.query('BEGIN');
    await other.query('SELECT FROM syncline.deletions WHERE connection_id = $1 FOR UPDATE', [busy]);
    const db = openDatabase(loadConfig({ options: { database: database.url } }).config.database, {
      ports: systemPorts,
      onConnectionLost: () => {},
      onSkew: () => {},
    });
    const step = () => deleteBatch({ db, ports: systemPorts }, { batch: 100 });
    try {
      expect([await step(), await step(), await step()]).toEqual(['more', 'finished', 'none']);
      expect([await signalsOf(busy), await signalsOf(free)]).toEqual([60, 0]);
      await other.query('ROLLBACK');
      expect([await step(), await step(), await step()]).toEqual(['more', 'finished', 'none']);
      expect(await sql('SELECT FROM connections')).toHaveLength(0);
    } finally {
      await db.close();
    }
  });

  it('deletion: concurrent workers finish all deletions, and their counts add up', async () => {
    const ids = [await connectionWith(900), await connectionWith(700), await connectionWith(500)];
    const engine = withoutBatches();
    for (const id of ids) await engine.connections.delete(id);
    const db = openDatabase(loadConfig({ options: { database: database.url } }).config.database, {
      ports: systemPorts,
      onConnectionLost: () => {},
      onSkew: () => {},
    });
    const worker = async () => {
      while ((await deleteBatch({ db, ports: systemPorts }, { batch: 50 })) !== 'none');
    };
    try {
      await Promise.all([worker(), worker(), worker()]);
      // A worker stops when all remaining deletions are locked; the last call processes what is left.
      await worker();
    } finally {
      await db.close();
    }
    const counts = await Promise.all(ids.map((id) => engine.connections.deletion(id)));
    expect(counts.map(({ state, deletedSignals }) => [state, deletedSignals])).toEqual([
      ['deleted', 900],
      ['deleted', 700],
      ['deleted', 500],
    ]);
    expect(await sql('SELECT FROM connections')).toHaveLength(0);
    expect(await sql('SELECT FROM signals')).toHaveLength(0);
  });

  it('deletion: operators see the database error, tenants a fixed message', async () => {
    const id = await connectionWith(60);
    await withoutBatches().connections.delete(id);
    const text = 'update or delete on table "signals" violates foreign key constraint "theirs_signal_fkey"';
    await sql('UPDATE deletions SET error = $1', [text]);
    const { call, syncline } = await startService(database);
    const { key } = await syncline.keys.create({ name: 'theirs', tenantId: tenant });
    expect((await call(`/v1/connections/${id}/deletion`)).body['error']).toBe(text);
    const seen = await call(`/v1/connections/${id}/deletion`, { key });
    expect(seen.body['error']).toBe('The last batch failed and will be retried.');
    const [operators, tenants] = [
      await call(`/v1/connections/${id}/why`),
      await call(`/v1/connections/${id}/why`, { key }),
    ];
    expect(operators.text).toContain('theirs_signal_fkey');
    expect([tenants.status, tenants.text]).toEqual([200, expect.not.stringContaining('fkey')]);
  });

  it('deletion: a failed batch stores its error and does not block other deletions', async () => {
    const [blocked, other] = [await connectionWith(60), await connectionWith(60)];
    const engine = withoutBatches();
    await engine.connections.delete(blocked);
    await engine.connections.delete(other);
    await sql('CREATE TABLE theirs (signal uuid REFERENCES signals (id))');
    const db = openDatabase(loadConfig({ options: { database: database.url } }).config.database, {
      ports: systemPorts,
      onConnectionLost: () => {},
      onSkew: () => {},
    });
    try {
      await sql('INSERT INTO theirs SELECT id FROM signals WHERE connection_id = $1 LIMIT 1', [blocked]);
      const step = () => deleteBatch({ db, ports: systemPorts }, { batch: 100 });
      await expect(step()).rejects.toThrow('foreign key');
      expect(await engine.connections.deletion(blocked)).toMatchObject({
        state: 'deleting',
        error: expect.stringContaining('foreign key'),
      });
      expect([await step(), await step()]).toEqual(['more', 'finished']);
      expect((await engine.connections.deletion(other)).state).toBe('deleted');
      await sql('DELETE FROM theirs');
      expect(await database.engine().connections.delete(blocked)).toMatchObject({ state: 'deleted' });
    } finally {
      await db.close();
      await sql('DROP TABLE theirs');
    }
  });

  it('deletion: a process without a janitor logs failed batches of its deleter', async () => {
    const id = await connectionWith(deletionBatch + 1);
    const { log, lines } = recordingLogger();
    const query: Ports['query'] = (statement, send) =>
      statement.startsWith('DELETE FROM "syncline".signals')
        ? Promise.reject(new Error('No space left on device'))
        : send();
    await database.engine({ ports: { ...systemPorts, query }, logger: log }).connections.delete(id);
    const failed = () => lines.find(({ msg }) => msg.includes('No space left'));
    await until('the failure is logged', () => failed() !== undefined);
    expect(failed()).toMatchObject({ role: 'deleter', msg: expect.stringMatching(/^deleter failed: /) });
  });

  it('deletion: only its own tenant can read the progress', async () => {
    const id = await connectionWith(large);
    const engine = withoutBatches();
    const ours = engine.as({ tenantId: tenant, actor: 'ours' });
    await ours.connections.delete(id);
    expect(await ours.connections.deletion(id)).toMatchObject({ state: 'deleting' });
    const stranger = engine.as({ tenantId: otherTenant, actor: 'stranger' });
    for (const attempt of [() => stranger.connections.deletion(id), () => stranger.connections.delete(id)])
      await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('deletion: the API responds 202 with the progress, and 204 for a small connection', async () => {
    const [id, small] = [await connectionWith(large), await connectionWith(10)];
    const { call, syncline } = await startService(database);
    // First: the background deletion of the other one would also take this one, and the response would be 202.
    expect((await call(`/v1/connections/${small}`, { method: 'DELETE' })).status).toBe(204);
    expect((await call(`/v1/connections/${small}/deletion`)).body).toMatchObject({ state: 'deleted' });
    const begun = await call(`/v1/connections/${id}`, { method: 'DELETE' });
    expect([begun.status, begun.headers.get('location')]).toEqual([202, `/v1/connections/${id}/deletion`]);
    expect(begun.body).toMatchObject({ connection_id: id, state: 'deleting', estimated_signals: large });
    const trigger = await call(`/v1/connections/${id}/trigger`, { method: 'POST', json: {} });
    if (trigger.status !== 404) expect(trigger.body).toMatchObject({ status: 409, code: 'CONFLICT' });
    await finished(syncline, id);
    expect((await call(`/v1/connections/${id}/deletion`)).body).toMatchObject({
      state: 'deleted',
      deleted_signals: large,
    });
    expect((await call(`/v1/connections/${id}`)).status).toBe(404);
  });

  it.each(['DELETE', 'a bulk step'])(
    'deletion: %s returns while a token refresh locks the credential, and the process continues later',
    async (request) => {
      const id = await connectionWith(3);
      await sql(
        `WITH c AS (INSERT INTO credentials (id, tenant_id, provider_slug, kind, key_id, sealed, created_at, updated_at)
           VALUES (gen_random_uuid(), $1, 'github', 'api_key', 'k', '', now(), now()) RETURNING id)
         UPDATE connections SET credential_id = c.id FROM c WHERE connections.id = $2`,
        [tenant, id],
      );
      const refresh = await database.session();
      await refresh.query('BEGIN; SELECT FROM syncline.credentials FOR UPDATE');
      const { call, syncline } = await startService(database);
      if (request === 'DELETE') {
        const begun = await call(`/v1/connections/${id}`, { method: 'DELETE' });
        expect([begun.status, begun.body['state'], begun.body['deleted_signals']]).toEqual([
          202,
          'deleting',
          3,
        ]);
      } else {
        const step = await syncline.connections.bulk({ action: 'delete', filter: {} });
        expect(step).toMatchObject({ matched: 1, changed: 1, failed: [] });
      }
      expect(await sql('SELECT FROM connections')).toHaveLength(1);
      await refresh.query('ROLLBACK');
      await finished(syncline, id);
      for (const table of ['connections', 'credentials', 'signals'])
        expect(await sql(`SELECT FROM ${table}`)).toHaveLength(0);
    },
  );

  it('deletion: a failed first batch is retried by the process, although delete() throws', async () => {
    const id = await connectionWith(3);
    let failures = 1;
    const engine = database.engine({
      ports: {
        ...systemPorts,
        query: (statement, send) =>
          statement.startsWith('DELETE FROM "syncline".signals') && failures-- > 0
            ? Promise.reject(new TypeError('cut off'))
            : send(),
      },
    });
    await expect(engine.connections.delete(id)).rejects.toThrow('cut off');
    await finished(engine, id);
  });
});
