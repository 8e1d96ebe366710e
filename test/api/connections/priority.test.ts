import { beforeEach, describe, expect, it } from 'vitest';
import { startService } from '../../http/service.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const theirs = { tenantId: tenant, actor: 'key:theirs' };
const pending = (connection: string) =>
  sql<{ priority: number; rerun_priority: number | null }>(
    `SELECT priority, rerun_priority FROM sync_jobs WHERE connection_id = $1 AND status IN ('queued', 'running')`,
    [connection],
  );

describe('EXE-2: the priority of a tenant', () => {
  it('EXE-2: a tenant cannot trigger above the default manual priority', async () => {
    const id = await connect();
    const view = database.engine().as(theirs);
    for (const priority of [11, 32_767])
      await expect(view.connections.trigger(id, { priority })).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: `priority must be at most 10 for a tenant, got ${priority}.`,
        hint: 'Use a lower priority, or an operator key.',
      });
    expect(await pending(id)).toEqual([]);
    await view.connections.trigger(id, { priority: 10 });
    expect(await pending(id)).toMatchObject([{ priority: 10 }]);
  });

  it('EXE-2: an operator can trigger with any priority', async () => {
    const id = await connect();
    await database.engine().connections.trigger(id, { priority: 32_767 });
    expect(await pending(id)).toMatchObject([{ priority: 32_767 }]);
  });

  it('EXE-2: a tenant cannot raise the priority of the run that follows a running job', async () => {
    const id = await connect();
    await job(id, { status: 'running' });
    const { connections } = database.engine().as(theirs);
    await expect(connections.trigger(id, { priority: 11 })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await pending(id)).toEqual([{ priority: 0, rerun_priority: null }]);
  });

  it('EXE-2: a bulk trigger of a tenant rejects a higher priority for every connection', async () => {
    const id = await connect();
    const step = { action: 'trigger' as const, filter: {}, priority: 11 };
    expect(await database.engine().as(theirs).connections.bulk(step)).toMatchObject({
      changed: 0,
      failed: [{ id, message: 'priority must be at most 10 for a tenant, got 11.' }],
    });
    expect(await pending(id)).toEqual([]);
  });

  it('EXE-2: a retry by a tenant lowers the priority of an ended job to the manual default', async () => {
    const id = await connect();
    const ended = await job(id, { status: 'failed', priority: 500 });
    const { jobs } = database.engine().as(theirs);
    expect(await jobs.retry(ended)).toMatchObject({ priority: 10 });
    expect(await pending(id)).toMatchObject([{ priority: 10 }]);
    const another = await connect();
    const low = await job(another, { status: 'failed', priority: -5 });
    expect(await jobs.retry(low)).toMatchObject({ priority: -5 });
  });

  it('EXE-2: a retry keeps the priority of a queued job, and for operators of an ended one', async () => {
    const waiting = await job(await connect(), { priority: 500 });
    expect(await database.engine().as(theirs).jobs.retry(waiting)).toMatchObject({ priority: 500 });
    const ended = await job(await connect(), { status: 'failed', priority: 500 });
    expect(await database.engine().jobs.retry(ended)).toMatchObject({ priority: 500 });
  });

  it('EXE-2: the API responds 403 to a tenant key and accepts an operator key', async () => {
    const id = await connect();
    const { call, syncline } = await startService(database);
    const { key } = await syncline.keys.create({ name: 'theirs', tenantId: tenant });
    const trigger = (as: { key?: string }, priority: number) =>
      call(`/v1/connections/${id}/trigger`, { method: 'POST', json: { priority }, ...as });
    const refused = await trigger({ key }, 11);
    expect([refused.status, refused.body['code'], refused.body['detail']]).toEqual([
      403,
      'FORBIDDEN',
      'priority must be at most 10 for a tenant, got 11.',
    ]);
    expect((await trigger({ key }, 10)).status).toBe(200);
    expect((await trigger({}, 11)).status).toBe(200);
    expect(await pending(id)).toMatchObject([{ priority: 11 }]);
  });
});
