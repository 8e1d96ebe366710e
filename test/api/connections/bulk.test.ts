import { beforeEach, describe, expect, it } from 'vitest';
import type { BulkRequest } from '../../../src/api/connections/api.ts';
import type { BulkStep } from '../../../src/api/connections/results.ts';
import { type Ports, type Syncline, systemPorts } from '../../../src/index.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, connect } = database;
beforeEach(() => database.empty());

const otherTenant = '00000000-0000-4000-8000-000000000002';

async function steps(engine: Pick<Syncline, 'connections'>, request: BulkRequest): Promise<BulkStep[]> {
  const done: BulkStep[] = [];
  let cursor: string | undefined;
  do {
    const step = await engine.connections.bulk({ ...request, cursor });
    done.push(step);
    cursor = step.nextCursor;
  } while (cursor !== undefined);
  return done;
}

const statuses = () =>
  sql<{ status: string; n: number }>(
    'SELECT status, count(*)::int AS n FROM connections GROUP BY status ORDER BY status',
  );

describe('connections.bulk', () => {
  it('bulk: changes all matching connections, in steps', async () => {
    for (let i = 0; i < 7; i++) await connect();
    for (let i = 0; i < 2; i++) await connect({ status: 'needs_auth' });
    const engine = database.engine();
    const done = await steps(engine, {
      action: 'pause',
      filter: { status: 'active' },
      limit: 3,
      actor: 'anna',
      reason: 'maintenance',
    });
    expect(done.map(({ matched, changed, failed }) => [matched, changed, failed])).toEqual([
      [3, 3, []],
      [3, 3, []],
      [1, 1, []],
    ]);
    expect(await statuses()).toEqual([
      { status: 'needs_auth', n: 2 },
      { status: 'paused', n: 7 },
    ]);
    const events = await sql(
      'SELECT DISTINCT kind, actor, reason, count(*)::int AS n FROM events GROUP BY 1, 2, 3',
    );
    expect(events).toEqual([{ kind: 'connection.paused', actor: 'anna', reason: 'maintenance', n: 7 }]);
  });

  it('bulk: a locked connection is listed as failed, and the others are changed', async () => {
    const ids = [await connect(), await connect(), await connect()].toSorted();
    const holder = await database.session();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM syncline.connections WHERE id = $1 FOR UPDATE', [ids[1]]);
    const [step] = await steps(database.engine(), { action: 'pause', filter: {}, limit: 3 });
    expect(step).toEqual({
      matched: 3,
      changed: 2,
      failed: [{ id: ids[1], message: 'Another transaction is changing this connection. Try again.' }],
      nextCursor: undefined,
    });
    expect(await statuses()).toEqual([
      { status: 'active', n: 1 },
      { status: 'paused', n: 2 },
    ]);
  });

  it('bulk: a slow step ends early, and the next one continues after it', async () => {
    for (let i = 0; i < 5; i++) await connect();
    let elapsedMs = 0;
    const slow: Ports = {
      ...systemPorts,
      monotonicMs: () => elapsedMs,
      query: (statement, send) => {
        if (/UPDATE \S+connections SET status/.test(statement)) elapsedMs += 15_000;
        return send();
      },
    };
    const done = await steps(database.engine({ ports: slow }), { action: 'pause', filter: {}, limit: 5 });
    expect(done.map(({ matched, changed }) => [matched, changed])).toEqual([
      [2, 2],
      [2, 2],
      [1, 1],
    ]);
    expect(await statuses()).toEqual([{ status: 'paused', n: 5 }]);
    expect(await sql('SELECT FROM events')).toHaveLength(5);
  });

  it('bulk: lists failed connections with the reason and continues', async () => {
    const active = await connect();
    const paused = [await connect({ status: 'paused' }), await connect({ status: 'paused' })];
    const done = await steps(database.engine(), { action: 'trigger', filter: {}, limit: 2 });
    expect(done.reduce((sum, { changed }) => sum + changed, 0)).toBe(1);
    expect(done.flatMap(({ failed }) => failed).toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      paused.toSorted().map((id) => ({ id, message: `Connection ${id} is paused and cannot run.` })),
    );
    expect(await sql('SELECT connection_id FROM sync_jobs')).toEqual([{ connection_id: active }]);
  });

  it.each([
    ['resume', { status: 'paused' }, `SELECT FROM connections WHERE status = 'active'`],
    ['trigger', {}, `SELECT FROM sync_jobs WHERE priority = 10`],
    ['cancel', {}, `SELECT FROM sync_jobs WHERE status = 'cancelled'`],
  ] as const)('bulk: the action %s changes all matching connections', async (action, columns, what) => {
    for (let i = 0; i < 3; i++) {
      const id = await connect(columns);
      if (action === 'cancel') await database.job(id);
    }
    const [step] = await steps(database.engine(), { action, filter: {} });
    expect(step).toEqual({ matched: 3, changed: 3, failed: [], nextCursor: undefined });
    expect(await sql(what)).toHaveLength(3);
  });

  it('bulk: deletes all matching connections, in steps', async () => {
    for (let i = 0; i < 5; i++) await connect();
    const done = await steps(database.engine(), {
      action: 'delete',
      filter: { provider: 'github' },
      limit: 2,
    });
    expect(done.map(({ changed }) => changed)).toEqual([2, 2, 1]);
    expect(await statuses()).toEqual([]);
    expect(await sql(`SELECT FROM events WHERE kind = 'connection.deleted'`)).toHaveLength(5);
  });

  it('bulk: a tenant changes only its own connections, with any filter', async () => {
    await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [otherTenant]);
    const own = await connect();
    await sql('UPDATE connections SET tenant_id = $1', [otherTenant]);
    await connect();
    const view = database.engine().as({ tenantId: otherTenant, actor: 'key:theirs' });
    expect(await steps(view, { action: 'pause', filter: { tenantId: tenant } })).toMatchObject([
      { matched: 0 },
    ]);
    expect(await steps(view, { action: 'pause', filter: {} })).toMatchObject([{ matched: 1, changed: 1 }]);
    expect(await sql(`SELECT id FROM connections WHERE status = 'paused'`)).toEqual([{ id: own }]);
    expect(await sql('SELECT actor FROM events')).toEqual([{ actor: 'key:theirs' }]);
  });

  it('bulk: rejects an unknown action or filter and changes nothing', async () => {
    await connect();
    const { connections } = database.engine();
    const action = 'destroy' as 'delete';
    await expect(connections.bulk({ action, filter: {} })).rejects.toThrow(
      /action must be one of.*, got "destroy"/,
    );
    const filter = { status: 'asleep' as 'paused' };
    await expect(connections.bulk({ action: 'pause', filter })).rejects.toThrow(
      /status must be .*, got "asleep"/,
    );
    await expect(connections.bulk({ action: 'pause', filter: {}, limit: 101 })).rejects.toThrow(
      /limit must be .*, got 101/,
    );
    expect(await statuses()).toEqual([{ status: 'active', n: 1 }]);
  });
});
