import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;

/** Steps on three connections, by the engine and by other writers. */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('tick' as const),
      afterSeconds: fc.integer({ min: 0, max: 4000 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('claim', 'end', 'delete'), of: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('interval' as const),
      of: fc.nat(2),
      seconds: fc.integer({ min: 60, max: 7200 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('pause', 'activate', 'clear interval', 'garbage', 'prune'),
      of: fc.nat(2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      afterSeconds: fc.integer({ min: 100_000, max: 300_000_000 }),
    }),
  },
);
type Step = { do: string; of?: number; afterSeconds?: number; seconds?: number };

interface Row {
  status: string;
  waits: boolean;
  due: Date | null;
  pending: number;
  /** due_at equals it. */
  follows: boolean;
}
const rows = () =>
  sql<Row>(`SELECT c.status, c.waits_for_job AS waits, parse_instant(c.metadata #>> '{sync,next_run_at}') AS due,
      c.due_at = coalesce(parse_instant(c.metadata #>> '{sync,next_run_at}'), '-infinity') AS follows,
      (SELECT count(*)::int FROM sync_jobs j
       WHERE j.connection_id = c.id AND j.job_type = 'incremental' AND j.status IN ('queued', 'running')) AS pending
    FROM connections c`);

describe('SCH-7: random sequences of steps', () => {
  it('SCH-7: at most one job is pending, and no due connection is skipped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps: Step[]) => {
        await database.empty();
        const ports = testPorts('2025-01-01T00:00:00Z');
        const engine = database.engine({ ports, scheduler: { batchSize: 2 } });
        const ids = await Promise.all(
          [0, 1, 2].map(
            async () => (await engine.connections.create({ tenantId: tenant, provider: 'github' })).id,
          ),
        );
        for (const next of steps) {
          await perform(next, engine, ports, ids);
          const now = ports.now();
          for (const { status, waits, due, pending, follows } of await rows()) {
            expect(follows).toBe(true);
            expect(pending).toBeLessThanOrEqual(1);
            if (waits) expect(pending).toBe(1);
            // After a tick, a connection without a job is not due before the next tick.
            if (['tick', 'outage'].includes(next.do) && status === 'active' && pending === 0) {
              expect(due?.getTime() ?? 0).toBeGreaterThan(now + 60_000);
            }
          }
        }
        await engine.stop();
      }),
      { numRuns: sized(60, 15) },
    );
  });
});

async function perform(
  { do: action, of = 0, afterSeconds = 0, seconds = 0 }: Step,
  engine: ReturnType<typeof database.engine>,
  ports: ReturnType<typeof testPorts>,
  ids: string[],
): Promise<void> {
  const id = ids[of] as string;
  const now = new Date(ports.now());
  const pending = `connection_id = $1 AND job_type = 'incremental' AND status IN ('queued', 'running')`;
  switch (action) {
    case 'tick':
    case 'outage': {
      ports.advance(afterSeconds * 1000);
      const placedBefore = await sql('SELECT FROM sync_jobs');
      const { scheduled } = await engine.tick();
      expect(await sql('SELECT FROM sync_jobs')).toHaveLength(placedBefore.length + scheduled);
      return;
    }
    case 'claim':
      return void (await sql(`UPDATE sync_jobs SET status = 'running' WHERE ${pending}`, [id]));
    case 'end':
      return void (await sql(`UPDATE sync_jobs SET status = 'failed', finished_at = $2 WHERE ${pending}`, [
        id,
        now,
      ]));
    case 'delete':
      return void (await sql(`DELETE FROM sync_jobs WHERE ${pending}`, [id]));
    case 'prune':
      return void (await sql(`DELETE FROM sync_jobs WHERE connection_id = $1 AND NOT (${pending})`, [id]));
    case 'interval':
      return void (await engine.connections.setInterval(id, seconds));
    case 'clear interval':
      return void (await engine.connections.clearInterval(id));
    case 'pause':
      return void (await sql(`UPDATE connections SET status = 'paused' WHERE id = $1`, [id]));
    case 'activate':
      return void (await engine.connections.activate(id));
    case 'garbage':
      return void (await sql(
        `UPDATE connections SET metadata = '{"sync": {"next_run_at": "soon", "interval_seconds": "often"}}' WHERE id = $1`,
        [id],
      ));
    default:
      throw new Error(action);
  }
}
