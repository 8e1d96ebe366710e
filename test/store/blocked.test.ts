import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, connect } = database;
beforeEach(() => database.empty());

const insert = (status: string) =>
  `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status)
   SELECT '${tenant}', 'github', $1, $2, '${status}' ON CONFLICT DO NOTHING`;
const update = (from: string, to: string) =>
  `UPDATE sync_jobs SET status = '${to}' WHERE connection_id = $1 AND job_type = $2 AND status = '${from}'`;

interface Operation {
  connection: number;
  type: string;
  statement: string;
}

/** Statements of any writer. */
const statements = [
  insert('queued'),
  insert('queued'),
  insert('running'),
  insert('succeeded'),
  update('queued', 'running'),
  update('queued', 'cancelled'),
  update('running', 'queued'),
  update('running', 'succeeded'),
  update('running', 'failed'),
  'DELETE FROM sync_jobs WHERE connection_id = $1 AND job_type = $2',
  `UPDATE sync_jobs SET retry_after = now() WHERE connection_id = $1 AND job_type = $2`,
  `UPDATE connections SET status = 'paused' WHERE id = $1 AND $2 <> ''`,
  `UPDATE connections SET status = 'active' WHERE id = $1 AND $2 <> ''`,
];
const operation: fc.Arbitrary<Operation> = fc.record({
  connection: fc.nat(2),
  type: fc.constantFrom('incremental', 'full', 'webhook'),
  statement: fc.constantFrom(...statements),
});

const wronglyFlagged = (which: 'blocked' | 'NOT blocked') =>
  sql(
    `SELECT j.id FROM sync_jobs j JOIN connections c ON c.id = j.connection_id
     WHERE j.status = 'queued' AND ${which} AND j.blocked <> (
       c.status <> 'active' OR EXISTS (SELECT FROM sync_jobs r WHERE r.connection_id = c.id AND r.status = 'running'))`,
  );

const isWaiting = async () =>
  (await sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`))
    .length > 0;

/** Expected: a unique violation (second running or pending job) or a deadlock. */
const isExpectedError = (error: { code?: string }) => error.code === '23505' || error.code === '40P01';

async function apply(connections: string[], { connection, type, statement }: Operation): Promise<void> {
  await sql(statement, [connections[connection], type]).catch((error: { code?: string }) => {
    if (!isExpectedError(error)) throw error;
  });
}

describe('EXE-3: the blocked flag', () => {
  it('EXE-3: after any sequence of writes, exactly the jobs that must wait are blocked', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 25 }), async (operations) => {
        await database.empty();
        const connections = [await connect(), await connect(), await connect()];
        for (const step of operations) {
          await apply(connections, step);
          expect(await wronglyFlagged('blocked')).toEqual([]);
          expect(await wronglyFlagged('NOT blocked')).toEqual([]);
        }
      }),
      { numRuns: sized(60, 15) },
    );
  });

  it('EXE-3: after any concurrent writes, no job stays blocked without a cause', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 30, maxLength: 60 }), async (operations) => {
        await database.empty();
        const connections = [await connect(), await connect(), await connect()];
        await Promise.all(operations.map((step) => apply(connections, step)));
        expect(await wronglyFlagged('blocked')).toEqual([]);
      }),
      { numRuns: sized(60, 15) },
    );
  });

  it('EXE-3: a job queued while the end of the running one commits is not blocked by it', async () => {
    const connection = await connect();
    await sql(insert('running'), [connection, 'full']);
    const ending = await database.session();
    await ending.query('BEGIN; SET LOCAL search_path TO syncline');
    await ending.query(update('running', 'succeeded'), [connection, 'full']);
    let isDone = false;
    const queued = sql(insert('queued'), [connection, 'incremental']).then(() => {
      isDone = true;
    });
    while (!isDone && !(await isWaiting())) await new Promise(setImmediate);
    await ending.query('COMMIT');
    await queued;
    expect(await wronglyFlagged('blocked')).toEqual([]);
  });

  it('EXE-3: a run unblocks a job that a writer blocked while the commit waited for its row lock', async () => {
    const connection = await connect();
    const first = await database.job(connection, { priority: 1 });
    const writer = await database.session();
    await writer.query('SET search_path TO syncline');
    const ran: string[] = [];
    const engine = database.engine({
      connectors: [
        connector(async ({ job: { id } }) => {
          ran.push(id);
          if (id !== first) return { signals: [] };
          // Not blocked yet, like a job that is queued during the claim of another.
          await writer.query(`SET syncline.triggers = 'off'`);
          await writer.query(insert('queued'), [connection, 'full']);
          await writer.query(`RESET syncline.triggers; BEGIN`);
          await writer.query(`UPDATE sync_jobs SET priority = 2 WHERE id = $1`, [first]);
          return { signals: [] };
        }),
      ],
    });
    const draining = engine.drain();
    await until('the commit waits', isWaiting);
    await writer.query('COMMIT');
    await draining;
    expect(await wronglyFlagged('blocked')).toEqual([]);
    expect(ran).toHaveLength(2);
  });

  it('EXE-3: claims, placements and commits set the flag like the triggers they bypass', async () => {
    const connection = await connect({ metadata: { sync: { next_run_at: '2025-01-01T00:00:00Z' } } });
    const full = await database.job(connection, { job_type: 'full', priority: 1 });
    // Not due: no claim takes it.
    const later = { job_type: 'webhook', scheduled_at: '2999-01-01T00:00:00Z' };
    const webhook = await database.job(connection, later);
    const waiting: boolean[][] = [];
    const engine = database.engine({
      connectors: [
        connector(async ({ job: { id } }) => {
          // Placed while another job of the connection runs.
          if (id === full) await engine.tick();
          const rows = await sql<{ blocked: boolean }>(
            `SELECT blocked FROM sync_jobs WHERE status = 'queued'`,
          );
          waiting.push(rows.map((row) => row.blocked));
          return { signals: [] };
        }),
      ],
    });
    await engine.drain();
    expect(waiting).toEqual([[true, true], [true]]);
    const [left] = await sql(`SELECT status, blocked FROM sync_jobs WHERE id = $1`, [webhook]);
    expect(left).toEqual({ status: 'queued', blocked: false });
    expect(await wronglyFlagged('blocked')).toEqual([]);
  });
});
