import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../../src/index.ts';
import { wakeChannel } from '../../../src/store/wake.ts';
import { useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

let listener: pg.Client;
let received: string[] = [];
beforeAll(async () => {
  listener = new pg.Client({ connectionString: database.url });
  listener.on('notification', ({ payload }) => void received.push(payload ?? ''));
  await listener.connect();
  await listener.query(`LISTEN ${pg.escapeIdentifier(wakeChannel('syncline'))}`);
});
afterAll(() => listener.end());

/** Notifications of `work`. A statement on the listening session delivers all that are committed. */
async function notificationsOf(work: () => Promise<unknown>): Promise<string[]> {
  await listener.query('SELECT 1');
  received = [];
  await work();
  await listener.query('SELECT 1');
  return received;
}

const due = '2020-01-01';
const later = '2099-01-01';

describe('notifications of changes', () => {
  it('notify: a trigger notifies executors once', async () => {
    const id = await connect();
    const { connections } = database.engine();
    expect(await notificationsOf(() => connections.trigger(id))).toEqual(['jobs']);
  });

  it('notify: a trigger behind a running job notifies no executor', async () => {
    const id = await connect();
    await job(id, { status: 'running' });
    const { connections } = database.engine();
    expect(await notificationsOf(() => connections.trigger(id))).toEqual([]);
  });

  it('notify: pausing with a due job notifies no executor, alone and in bulk', async () => {
    const ids = [await connect(), await connect()];
    for (const id of ids) await job(id, { scheduled_at: due });
    const { connections } = database.engine();
    expect(await notificationsOf(() => connections.pause(String(ids[0])))).toEqual([]);
    expect(await notificationsOf(() => connections.bulk({ action: 'pause', filter: {} }))).toEqual([]);
    expect(await sql(`SELECT DISTINCT status FROM connections`)).toEqual([{ status: 'paused' }]);
  });

  it.each([
    ['no job', undefined, []],
    ['a queued job, which becomes due', { scheduled_at: later, retry_after: later }, ['jobs']],
  ])(
    'notify: resuming a connection notifies executors if a job becomes due: %s',
    async (_name, queued, expected) => {
      const id = await connect();
      if (queued) await job(id, queued);
      const { connections } = database.engine();
      await connections.pause(id);
      expect(await notificationsOf(() => connections.resume(id))).toEqual(expected);
      expect(await notificationsOf(() => connections.resume(id))).toEqual([]);
    },
  );

  it('notify: cancelling a running job has executors recheck their runs and claim the job behind it', async () => {
    const id = await connect();
    const running = await job(id, { status: 'running' });
    await job(id, { job_type: 'full', scheduled_at: due });
    const { jobs } = database.engine();
    expect((await notificationsOf(() => jobs.cancel(running))).sort()).toEqual(['jobs', 'runs']);
  });

  it('notify: cancelling a queued job notifies no executor', async () => {
    const id = await connect();
    const queued = await job(id, { scheduled_at: due });
    const { jobs } = database.engine();
    expect(await notificationsOf(() => jobs.cancel(queued))).toEqual([]);
  });
});

describe('results of changes', () => {
  it('changes: the result is read in the transaction of the change', async () => {
    const statements: string[] = [];
    const ports = {
      ...systemPorts,
      query: <T>(statement: string, send: () => Promise<T>) => {
        statements.push(statement);
        return send();
      },
    };
    const engine = database.engine({ ports });
    const id = await connect();
    const queued = await job(id, { scheduled_at: due });
    const { connections, jobs } = engine;
    const changes = {
      pause: async () => (await connections.pause(id)).status === 'paused',
      resume: async () => (await connections.resume(id)).status === 'active',
      rewind: async () => (await connections.rewind(id, { cursor: 5 })).sync.cursor === 5,
      setInterval: async () => (await connections.setInterval(id, 600)).sync.intervalSeconds === 600,
      setConfig: async () => (await connections.setConfig(id, { a: 1 })).config['a'] === 1,
      setCredential: async () => (await connections.setCredential(id, null)).credentialId === undefined,
      retry: async () => (await jobs.retry(queued)).id === queued,
      cancel: async () => (await jobs.cancel(queued)).status === 'cancelled',
    };
    for (const [name, change] of Object.entries(changes)) {
      statements.length = 0;
      expect([name, await change(), statements.at(-1)]).toEqual([name, true, 'COMMIT']);
    }
  });
});
