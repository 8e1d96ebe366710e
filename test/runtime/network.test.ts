import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Ports, systemPorts } from '../../src/index.ts';
import { useDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';
import {
  addConnections,
  allComplete,
  complete,
  connectionLost,
  countOf,
  isHeartbeat,
  nothingPending,
  outcomes,
  pagedConnector,
  pending,
  severalAtATime,
} from '../support/worker.ts';

const leaseSeconds = 2;

describe('a connection that breaks at any statement', () => {
  const database = useDatabase();
  const { sql } = database;
  beforeEach(() => database.empty());

  interface Break {
    /** The number of the statement, counted from 1; heartbeats count once, since more of them depend on time. */
    at: number;
    when: 'before' | 'after';
  }

  /** Runs three pages in an engine of its own, and returns what it sent up to then. */
  async function runThrough(slug: string, broken?: Break): Promise<string[]> {
    const sent: string[] = [];
    const query: Ports['query'] = async (statement, send) => {
      if (isHeartbeat(statement) && sent.includes(statement)) return send();
      const strikes = sent.push(statement) === broken?.at;
      if (strikes && broken.when === 'before') throw connectionLost();
      const answer = await send();
      if (strikes) throw connectionLost();
      return answer;
    };
    const syncline = database.engine({
      connectors: [pagedConnector(slug)],
      executor: { leaseSeconds, concurrency: 1 },
      ports: { ...systemPorts, query },
    });
    await syncline.start({ roles: ['executor'] });
    await until(
      `nothing of ${slug} is pending`,
      async () => (await countOf(sql, `${pending} AND provider_slug = '${slug}'`)) === 0,
    );
    const upToNow = [...sent];
    await syncline.stop();
    return upToNow;
  }

  it('EXE-5: before it was sent or after it was done: nothing is lost, nothing doubled, and the process goes on', async () => {
    await addConnections(sql, ['undisturbed']);
    const everything = await runThrough('undisturbed');
    const stored = everything.findLastIndex((statement) => statement.startsWith('WITH stored'));
    const statements = everything.slice(0, everything.indexOf('COMMIT', stored) + 1);
    const breaks = statements.flatMap((_, i): Break[] => [
      { at: i + 1, when: 'before' },
      { at: i + 1, when: 'after' },
    ]);
    const slugOf = ({ at, when }: Break) => `broken-${when}-${at}`;
    const slugs = breaks.map(slugOf);
    await addConnections(sql, slugs);
    await severalAtATime(10, breaks, async (broken) => {
      const sent = await runThrough(slugOf(broken), broken);
      expect(sent.length).toBeGreaterThanOrEqual(broken.at);
    });
    expect(await outcomes(sql)).toEqual(allComplete(['undisturbed', ...slugs]));
    expect(statements.filter((statement) => statement === 'COMMIT').length).toBeGreaterThanOrEqual(6);
  });

  it('EXE-9: a heartbeat that fails while a claim is under way: what was claimed runs', async () => {
    await addConnections(sql, ['claimed']);
    let failed = () => {};
    const hasFailed = new Promise<void>((resolve) => {
      failed = resolve;
    });
    let isClaiming = false;
    let heartbeats = 0;
    const query: Ports['query'] = async (statement, send) => {
      if (isHeartbeat(statement) && isClaiming && heartbeats++ === 0) {
        failed();
        throw connectionLost();
      }
      const answer = await send();
      if (/^WITH alive/.test(statement)) isClaiming = true;
      if (statement === 'COMMIT' && isClaiming) {
        await hasFailed;
        // By now the executor knows, and the next heartbeat is not there yet.
        await nextTurn();
      }
      return answer;
    };
    const syncline = database.engine({
      connectors: [pagedConnector('claimed')],
      executor: { leaseSeconds, concurrency: 1 },
      ports: { ...systemPorts, query },
    });
    await syncline.start({ roles: ['executor'] });
    await nothingPending(sql);
    expect(heartbeats).toBeGreaterThan(0);
    expect(await outcomes(sql)).toEqual({ claimed: complete });
  });
});

describe('sockets on which nothing comes any more', () => {
  const database = useDatabase();
  const { sql } = database;
  const slugs = Array.from({ length: 20 }, (_, i) => `half-open-${i}`);
  beforeEach(() => database.empty());

  it('EXE-9: while runs are under way: the executor notices, replaces them and finishes, nothing lost, nothing doubled', async () => {
    const proxy = await startProxy(database.url);
    let calls = 0;
    const syncline = database.engine({
      database: proxy.url,
      connectors: slugs.map((slug) =>
        pagedConnector(slug, () => {
          if (++calls === 15) proxy.stall();
        }),
      ),
      executor: { leaseSeconds, concurrency: 4 },
    });
    // So that there are also some in the pool that nobody uses at that moment.
    await Promise.all(Array.from({ length: 5 }, () => syncline.jobs.list()));
    await addConnections(sql, slugs);
    await syncline.start({ roles: ['executor'] });
    await until('nothing comes any more', () => proxy.stalled() > 0);
    expect(await countOf(sql, pending)).toBeGreaterThan(0);
    const before = proxy.stalled();
    await until('it tries again', () => proxy.stalled() > before);
    proxy.heal();
    await nothingPending(sql);
    expect(await outcomes(sql)).toEqual(allComplete(slugs));
  });

  it('EXE-9: while there is nothing to do: the executor notices, replaces them, and runs what comes', async () => {
    const proxy = await startProxy(database.url);
    const asked: string[] = [];
    const query: Ports['query'] = (statement, send) => {
      if (!isHeartbeat(statement)) asked.push(statement);
      return send();
    };
    const syncline = database.engine({
      database: proxy.url,
      connectors: slugs.map((slug) => pagedConnector(slug)),
      executor: { leaseSeconds, concurrency: 2, pollIntervalMs: 50 },
      ports: { ...systemPorts, query },
    });
    await syncline.start({ roles: ['executor'] });
    await until('it does nothing but look', () => {
      const [a, b, c] = asked.slice(-3);
      return a !== undefined && a === b && b === c;
    });
    proxy.stall();
    const before = proxy.stalled();
    await until('it tries again', () => proxy.stalled() > before);
    proxy.heal();
    await addConnections(sql, slugs);
    await nothingPending(sql);
    expect(await outcomes(sql)).toEqual(allComplete(slugs));
  });
});

describe('a pool whose connections are all busy', () => {
  const database = useDatabase();
  const { sql } = database;
  beforeEach(() => database.empty());

  for (const isSomebodyDead of [false, true])
    it(`EXE-9: keeps no heartbeat waiting${isSomebodyDead ? ', also while a dead process waits to be cleared away' : ''}: the lease is renewed, and what runs stays`, async () => {
      await addConnections(sql, ['slow', 'locked-1', 'locked-2']);
      let wasAborted = false;
      const syncline = database.engine({
        database: { url: database.url, poolSize: 2 },
        connectors: [
          pagedConnector('slow', ({ abortSignal }) => {
            abortSignal.addEventListener('abort', () => {
              wasAborted = true;
            });
            return new Promise(() => {});
          }),
        ],
        executor: { leaseSeconds, shutdownGraceSeconds: 0 },
      });
      await syncline.start({ roles: ['executor'] });
      await until('it runs', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 1);

      const holder = await database.session();
      await holder.query(
        `BEGIN; SELECT FROM syncline.connections WHERE provider_slug LIKE 'locked%' FOR UPDATE`,
      );
      const locked = await sql<{ id: string }>(
        `SELECT id FROM connections WHERE provider_slug LIKE 'locked%'`,
      );
      const busy = Promise.allSettled(locked.map(({ id }) => syncline.connections.pause(id)));
      const waiting = `pg_stat_activity WHERE datname = current_database() AND application_name = 'syncline' AND wait_event_type = 'Lock'`;
      // Callers may hold one of the two; the other is the engine's.
      await until('a connection waits', async () => (await countOf(sql, waiting)) === 1);

      const [alive] = await sql<{ id: string; until: Date }>('SELECT id, expires_at AS until FROM processes');
      if (isSomebodyDead)
        await sql(
          `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
           VALUES (gen_random_uuid(), 'gone', 1, 1, '{}', now() - interval '1 hour', now() - interval '1 minute')`,
        );
      const lease = async () => {
        const [row] = await sql<{ until: Date; lives: boolean }>(
          'SELECT expires_at AS until, expires_at > clock_timestamp() AS lives FROM processes WHERE id = $1',
          [alive?.id],
        );
        return row;
      };
      const twoLeasesLater = (alive?.until.getTime() ?? 0) + 2 * leaseSeconds * 1000;
      await until('it moves on, or ends', async () => {
        const now = await lease();
        return !now?.lives || now.until.getTime() > twoLeasesLater;
      });
      expect(await countOf(sql, waiting)).toBe(1);
      expect((await lease())?.lives).toBe(true);
      expect(wasAborted).toBe(false);

      await holder.query('ROLLBACK');
      expect((await busy).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
      await until('nobody dead is left', async () => (await countOf(sql, 'processes')) === 1);
    });
});
