import { beforeAll, describe, expect, it } from 'vitest';
import { type Syncline, TransientError, UnauthorizedError } from '../../src/index.ts';
import { check, type Truth, type Violation } from '../checker/check.ts';
import { forgetHistory, keepHistory } from '../checker/history.ts';
import { type Random, seeded } from '../simulation/random.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { createOutsideWriter, type OutsideWriter } from '../support/outside-writer.ts';
import { seed } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;
const items = Array.from({ length: 9 }, (_, i) => `item ${i}`);
const executor = { concurrency: 10, pollIntervalMs: 50 };

/** Three items per page, and errors until it recovers. Only `open` has keys: its cursor may be lost. */
function source(provider: 'ledger' | 'open', random: Random, health: { isGood: boolean }) {
  return connector(async ({ cursor }) => {
    await new Promise(setImmediate);
    if (!health.isGood && random.chance(0.05)) throw new TransientError('503');
    if (!health.isGood && random.chance(0.01)) throw new UnauthorizedError('401');
    const after = typeof cursor === 'number' ? cursor : 0;
    const page = items.slice(after, after + 3);
    return {
      signals: page.map((item) => signal({ item }, provider === 'open' ? item : undefined)),
      nextCursor: after + page.length,
      hasMore: after + page.length < items.length,
    };
  }, provider);
}

describe('a writer outside the engine', () => {
  let writers: OutsideWriter[];
  let violations: Violation[];
  const read: string[] = [];

  beforeAll(async () => {
    const random = seeded(`outside writer ${seed}`);
    await sql(`INSERT INTO providers (slug) VALUES ('ledger'), ('open')`);
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug)
       SELECT $1, p FROM unnest(ARRAY['ledger', 'open']) p, generate_series(1, 10)`,
      [tenant],
    );
    await keepHistory(sql);
    await forgetHistory(sql);
    const health = { isGood: false };
    const connectors = (['ledger', 'open'] as const).map((slug) => source(slug, random.fork(slug), health));
    const fleet = [1, 2].map(() => database.engine({ connectors, executor }));
    const scheduler = database.engine({ connectors });
    await Promise.all(fleet.map((engine) => engine.start({ roles: ['executor'] })));
    const consumer = readFeed(scheduler);

    let isWriting = true;
    const ticking = (async () => {
      while (isWriting) await scheduler.tick();
    })();
    writers = await Promise.all(
      [1, 2, 3].map(async (n) => {
        const client = await database.session();
        await client.query('SET search_path TO syncline');
        return createOutsideWriter(client, random.fork(`writer ${n}`));
      }),
    );
    await Promise.all(writers.map((writer) => writer.run(sized(600, 40))));
    isWriting = false;
    await ticking;

    health.isGood = true;
    await finishEverything(scheduler);
    await consumer.stop();
    await Promise.all([...fleet, scheduler].map((engine) => engine.stop()));
    violations = await check(sql, { truth: await truth(), quiet: true });
  });

  /** Makes every connection active and due, as a service may, and waits until each has run to its end. */
  async function finishEverything(scheduler: Syncline): Promise<void> {
    await write(`UPDATE sync_jobs SET status = 'succeeded', finished_at = now()
      WHERE status = 'running' AND process_id IS NULL`);
    await write(
      `UPDATE connections SET schedule = NULL, metadata = patch_sync(metadata, '{"next_run_at": null}')`,
    );
    await until('no connection is due and every job has ended', async () => {
      // A run that started before the recovery may still be refused.
      await write(`UPDATE connections SET status = 'active',
        metadata = patch_sync(metadata, '{"next_run_at": null}') WHERE status <> 'active'`);
      // A tick skips connections that a commit has locked, so one tick may leave some due.
      await scheduler.tick();
      await write(`UPDATE sync_jobs SET scheduled_at = now(), retry_after = NULL
        WHERE status = 'queued' AND (scheduled_at > now() OR retry_after IS NOT NULL)`);
      const left = await sql(`SELECT id FROM sync_jobs WHERE status IN ('queued', 'running')
        UNION ALL SELECT id FROM connections WHERE due_at = '-infinity' OR status <> 'active'`);
      return left.length === 0;
    });
  }

  /** A statement over many rows may deadlock with a commit; another service repeats it. */
  async function write(text: string): Promise<void> {
    for (;;)
      try {
        await sql(text);
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== '40P01') throw error;
      }
  }

  function readFeed(engine: Syncline) {
    const controller = new AbortController();
    const reading = (async () => {
      for await (const { id } of engine.signals.feed({ after: 'beginning', signal: controller.signal }))
        read.push(id);
    })();
    return {
      stop: async () => {
        const left = async () =>
          (await sql<{ id: string }>('SELECT id FROM signals')).filter(({ id }) => !new Set(read).has(id));
        await until('the feed has returned every signal', async () => (await left()).length === 0);
        controller.abort();
        await reading;
      },
    };
  }

  /** What the provider has, and what the writers committed. */
  async function truth(): Promise<Truth[]> {
    const rows = await sql<{ id: string }>('SELECT id FROM connections');
    return rows.map(({ id }) => ({
      connectionId: id,
      items: [...items, ...writers.flatMap((writer) => writer.items.get(id) ?? [])],
      keyOf: (payload) => (payload as { item: string }).item,
    }));
  }

  const history = 'syncline_history.versions JOIN syncline_history.commits USING (xid)';

  /**
   * A worker outside the engine has neither a claim nor a process, and does not clear the engine's. A slot whose job it
   * deletes is placed again.
   */
  async function isAllowed({ invariant, position, detail }: Violation): Promise<boolean> {
    const ofClaims = [
      'a running job has a claim, a process and a start time',
      'an ended job has an end time and no process',
    ];
    const ofSlots = [
      'no slot of a connection is scheduled twice',
      'no occurrence of a schedule is placed twice',
    ];
    const own = `SELECT FROM ${history} WHERE writer = ''`;
    if (ofClaims.includes(invariant)) return (await sql(`${own} AND position = $1`, [position])).length > 0;
    const holder = / was placed as job (\S+)$/.exec(detail)?.[1];
    const deleted = `${own} AND relation = 'sync_jobs' AND operation = 'DELETE' AND old ->> 'id' = $1`;
    return ofSlots.includes(invariant) && (await sql(deleted, [holder])).length > 0;
  }

  it('DB-3, EXE-3, EXE-5: every invariant of the checker holds beside it', async () => {
    const left: Violation[] = [];
    for (const violation of violations) if (!(await isAllowed(violation))) left.push(violation);
    expect(left).toEqual([]);
  });

  it('DB-4: due_at equals metadata.sync.next_run_at', async () => {
    const wrong = await sql(
      `SELECT id, due_at, metadata FROM connections
       WHERE due_at <> coalesce(parse_instant(metadata #>> '{sync,next_run_at}'), '-infinity')`,
    );
    expect(wrong).toEqual([]);
  });

  it('EXE-5: no job and no signal is left without its connection', async () => {
    for (const table of ['sync_jobs', 'signals', 'webhooks', 'authorizations'])
      expect(
        await sql(
          `SELECT FROM ${table} t WHERE NOT EXISTS (SELECT FROM connections c WHERE c.id = t.connection_id)`,
        ),
      ).toEqual([]);
  });

  it('EXE-5: the feed returns every signal once, in commit order', async () => {
    const stored = await sql<{ id: string }>(
      'SELECT s.id FROM signals s JOIN feed f USING (batch) ORDER BY f.position, s.tenant_id, s.id',
    );
    const ids = new Set(stored.map(({ id }) => id));
    expect(new Set(read).size).toBe(read.length);
    expect(read.filter((id) => ids.has(id))).toEqual(stored.map(({ id }) => id));
  });

  it('EXE-3: the writers used every status, were refused by the unique indexes, and the engine ran beside them', async () => {
    const written = async (writer: string) =>
      (
        await sql<{ status: string }>(
          `SELECT DISTINCT new ->> 'status' AS status FROM syncline_history.versions
           WHERE relation = 'sync_jobs' AND writer = $1 AND operation <> 'DELETE' ORDER BY 1`,
          [writer],
        )
      ).map(({ status }) => status);
    expect(await written('')).toEqual(['cancelled', 'completed', 'failed', 'queued', 'running', 'succeeded']);
    expect(await written('syncline')).toEqual(expect.arrayContaining(['queued', 'running', 'succeeded']));
    expect(writers.some(({ errors }) => errors.has('23505'))).toBe(true);
  });
});
