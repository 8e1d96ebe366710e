import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Ports, systemPorts } from '../../src/index.ts';
import { useDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import {
  addConnections,
  allComplete,
  complete,
  connectionLost,
  countOf,
  forEachConcurrently,
  isHeartbeat,
  nothingPending,
  outcomes,
  pagedConnector,
  pending,
} from '../support/worker.ts';

const leaseSeconds = 2;

describe('a database connection that breaks at any statement', () => {
  const database = useDatabase();
  const { sql } = database;
  beforeEach(() => database.empty());

  interface Break {
    /** Index of the statement, from 1; heartbeats after the first do not count: their number varies. */
    at: number;
    when: 'before' | 'after';
  }

  /** Syncs three pages in a new engine and returns the statements it sent. */
  async function syncAll(slug: string, connectionBreak?: Break): Promise<string[]> {
    const sent: string[] = [];
    const query: Ports['query'] = async (statement, send) => {
      if (isHeartbeat(statement) && sent.includes(statement)) return send();
      const strikes = sent.push(statement) === connectionBreak?.at;
      if (strikes && connectionBreak.when === 'before') throw connectionLost();
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
    const sentSoFar = [...sent];
    await syncline.stop();
    return sentSoFar;
  }

  it('EXE-5: a connection lost before or after any statement loses and duplicates nothing', async () => {
    await addConnections(sql, ['undisturbed']);
    const sent = await syncAll('undisturbed');
    const stored = sent.findLastIndex((statement) => statement.startsWith('WITH stored'));
    const statements = sent.slice(0, sent.indexOf('COMMIT', stored) + 1);
    // At small size every sixth statement.
    const breaks = statements
      .flatMap((_, i): Break[] => [
        { at: i + 1, when: 'before' },
        { at: i + 1, when: 'after' },
      ])
      .filter(({ at }) => at % sized(1, 6) === 0);
    const slugOf = ({ at, when }: Break) => `broken-${when}-${at}`;
    const slugs = breaks.map(slugOf);
    await addConnections(sql, slugs);
    await forEachConcurrently(10, breaks, async (connectionBreak) => {
      const sent = await syncAll(slugOf(connectionBreak), connectionBreak);
      expect(sent.length).toBeGreaterThanOrEqual(connectionBreak.at);
    });
    expect(await outcomes(sql)).toEqual(allComplete(['undisturbed', ...slugs]));
    expect(statements.filter((statement) => statement === 'COMMIT').length).toBeGreaterThanOrEqual(6);
  });

  it('EXE-9: jobs claimed while a heartbeat fails are run', async () => {
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
        // The executor has seen the failure, and the next heartbeat is not sent yet.
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

describe('half-open sockets', () => {
  const database = useDatabase();
  const { sql } = database;
  const slugs = Array.from({ length: 20 }, (_, i) => `half-open-${i}`);
  beforeEach(() => database.empty());

  it('EXE-9: a busy executor detects stalled sockets, reconnects and completes every run', async () => {
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
    // Adds idle connections to the pool.
    await Promise.all(Array.from({ length: 5 }, () => syncline.jobs.list()));
    await addConnections(sql, slugs);
    await syncline.start({ roles: ['executor'] });
    await until('the connections are stalled', () => proxy.stalled() > 0);
    expect(await countOf(sql, pending)).toBeGreaterThan(0);
    const before = proxy.stalled();
    await until('it reconnects', () => proxy.stalled() > before);
    proxy.heal();
    await nothingPending(sql);
    expect(await outcomes(sql)).toEqual(allComplete(slugs));
  });

  it('EXE-9: an idle executor detects stalled sockets, reconnects and runs new jobs', async () => {
    const proxy = await startProxy(database.url);
    const sent: string[] = [];
    const query: Ports['query'] = (statement, send) => {
      if (!isHeartbeat(statement)) sent.push(statement);
      return send();
    };
    const syncline = database.engine({
      database: proxy.url,
      connectors: slugs.map((slug) => pagedConnector(slug)),
      executor: { leaseSeconds, concurrency: 2, pollIntervalMs: 50 },
      ports: { ...systemPorts, query },
    });
    await syncline.start({ roles: ['executor'] });
    await until('it only polls', () => {
      const [a, b, c] = sent.slice(-3);
      return a !== undefined && a === b && b === c;
    });
    proxy.stall();
    const before = proxy.stalled();
    await until('it reconnects', () => proxy.stalled() > before);
    proxy.heal();
    await addConnections(sql, slugs);
    await nothingPending(sql);
    expect(await outcomes(sql)).toEqual(allComplete(slugs));
  });
});

describe('a pool without free connections', () => {
  const database = useDatabase();
  const { sql } = database;
  beforeEach(() => database.empty());

  for (const hasDeadProcess of [false, true])
    it(`EXE-9: renews the lease, aborts no run${hasDeadProcess ? ' beside a dead process' : ''}`, async () => {
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
      // API calls may use one of the two connections; the other is reserved for the engine.
      await until('a connection waits', async () => (await countOf(sql, waiting)) === 1);

      const [alive] = await sql<{ id: string; until: Date }>('SELECT id, expires_at AS until FROM processes');
      if (hasDeadProcess)
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
      await until('the lease is renewed or expires', async () => {
        const now = await lease();
        return !now?.lives || now.until.getTime() > twoLeasesLater;
      });
      expect(await countOf(sql, waiting)).toBe(1);
      expect((await lease())?.lives).toBe(true);
      expect(wasAborted).toBe(false);

      await holder.query('ROLLBACK');
      expect((await busy).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
      await until('the dead process is reaped', async () => (await countOf(sql, 'processes')) === 1);
    });
});
