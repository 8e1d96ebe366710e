import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Syncline } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { type Running, startProcess } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, connect, engine, session } = database;
const consumer = fileURLToPath(new URL('../support/fixtures/consumer.mjs', import.meta.url));
const otherTenant = '00000000-0000-4000-8000-000000000002';

let connection: string;
beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM consumers');
  connection = await connect();
});

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  VALUES ($1, 'github', $2, $3, now(), '{}') RETURNING id`;

async function store(kind: string, tenantId = tenant): Promise<string> {
  const [row] = await sql<{ id: string }>(insert, [tenantId, connection, kind]);
  return (row as { id: string }).id;
}

/** A transaction, and when its COMMIT was sent and confirmed. */
interface Written {
  ids: string[];
  sentMs: number;
  confirmedMs: number;
}

/** Sessions that insert, pause, and commit or roll back at random times. */
async function write(writers: number, transactions: number): Promise<Written[]> {
  const written: Written[] = [];
  await Promise.all(
    Array.from({ length: writers }, async () => {
      const client = await session();
      for (let i = 0; i < transactions; i++) {
        await client.query('BEGIN');
        const ids: string[] = [];
        for (let n = 0; n < 1 + Math.floor(Math.random() * 3); n++) {
          const { rows } = await client.query<{ id: string }>(insert, [tenant, connection, 'written']);
          ids.push((rows[0] as { id: string }).id);
          await pause(Math.random() * 20);
        }
        const sentMs = performance.now();
        if (Math.random() < 0.1) {
          await client.query('ROLLBACK');
          continue;
        }
        await client.query('COMMIT');
        written.push({ ids, sentMs, confirmedMs: performance.now() });
      }
    }),
  );
  return written;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Counts transactions delivered after one whose COMMIT was sent only after theirs was confirmed. */
function outOfOrder(written: Written[], seen: string[]): number {
  const place = new Map(seen.map((id, i) => [id, i]));
  const placed = written
    .map((batch) => ({ ...batch, first: Math.min(...batch.ids.map((id) => place.get(id) as number)) }))
    .sort((a, b) => a.first - b.first);
  let latestSentMs = Number.NEGATIVE_INFINITY;
  let wrong = 0;
  for (const batch of placed) {
    if (batch.confirmedMs < latestSentMs) wrong++;
    latestSentMs = Math.max(latestSentMs, batch.sentMs);
  }
  return wrong;
}

/** Runs consumers in sequence, killing each after it has read some signals, until `isDone`. */
async function consume(
  remembers: 'own' | 'named',
  maxReadBeforeKill: number,
  isDone: () => Promise<boolean>,
): Promise<number> {
  let kills = 0;
  for (;;) {
    const running: Running = startProcess(process.execPath, [
      consumer,
      JSON.stringify({ database: database.url, tenant, remembers }),
    ]);
    await running.output(/reading/);
    // By progress, not by time: on a busy machine a process would start for each signal.
    const enough = (await effects()).length + 1 + Math.floor(Math.random() * maxReadBeforeKill);
    while ((await effects()).length < enough) {
      if (await isDone()) {
        running.process.kill('SIGKILL');
        await running.finished;
        return kills;
      }
      await pause(20);
    }
    running.process.kill('SIGKILL');
    await running.finished;
    kills++;
  }
}

async function effects(): Promise<string[]> {
  const rows = await sql<{ signal_id: string }>('SELECT signal_id FROM public.effects ORDER BY n');
  return rows.map((row) => row.signal_id);
}

describe('the feed with concurrent writers and a consumer that is killed repeatedly', () => {
  beforeEach(async () => {
    await sql('DROP TABLE IF EXISTS public.effects');
    await sql('CREATE TABLE public.effects (n serial, signal_id uuid, cursor text)');
  });

  it('FEED-1: a consumer that stores its cursor gets every signal once, in commit order', async () => {
    let written: Written[] | undefined;
    const writing = write(50, sized(20, 8)).then((all) => {
      written = all;
    });
    const kills = await consume('own', 300, async () => {
      if (!written) return false;
      const [row] = await sql<{ seen: number }>('SELECT count(*)::int AS seen FROM public.effects');
      return (row?.seen ?? 0) >= written.flatMap(({ ids }) => ids).length;
    });
    await writing;
    const seen = await effects();
    const all = (written ?? []).flatMap(({ ids }) => ids);
    expect(kills).toBeGreaterThan(1);
    expect(seen.toSorted()).toEqual(all.toSorted());
    expect(outOfOrder(written ?? [], seen)).toBe(0);
    // Signals of one transaction are adjacent.
    for (const { ids } of written ?? []) {
      const places = ids.map((id) => seen.indexOf(id));
      expect(Math.max(...places) - Math.min(...places)).toBe(ids.length - 1);
    }
  }, 600_000);

  it('FEED-2: a named consumer misses no signal and receives at most its current one again', async () => {
    let written: Written[] | undefined;
    const writing = write(20, sized(8, 4)).then((all) => {
      written = all;
    });
    const kills = await consume('named', 30, async () => {
      if (!written) return false;
      return new Set(await effects()).size >= written.flatMap(({ ids }) => ids).length;
    });
    await writing;
    const seen = await effects();
    const all = (written ?? []).flatMap(({ ids }) => ids);
    expect(kills).toBeGreaterThan(1);
    expect([...new Set(seen)].toSorted()).toEqual(all.toSorted());
    expect(seen.length - all.length).toBeLessThanOrEqual(kills);
    const redelivered = seen.filter((id, i) => seen.indexOf(id) !== i);
    for (const id of redelivered) expect(seen[seen.indexOf(id) + 1]).toBe(id);
  }, 600_000);
});

describe('options of the feed', () => {
  it('feed: rejects an unknown option instead of ignoring a filter', async () => {
    const { signals } = engine();
    const options = { consmer: 'search-index' } as object;
    const expected = { code: 'INVALID_ARGUMENT', hint: 'Did you mean consumer?' };
    await expect(signals.feed(options).next()).rejects.toMatchObject(expected);
    await expect(signals.read(options)).rejects.toMatchObject(expected);
  });

  it('feed: rejects an invalid start and names the valid ones', async () => {
    await expect(engine().signals.feed({ after: 'start' }).next()).rejects.toThrow(
      'after must be beginning, latest or a cursor of the feed, got "start".',
    );
  });
});

describe('a transaction that is committing', () => {
  /** Runs `body` at COMMIT, after the position is assigned. */
  const atCommit = async (kind: string, body: string) => {
    await sql(`CREATE OR REPLACE FUNCTION public.at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM syncline.signals WHERE batch = NEW.batch AND kind = '${kind}') THEN ${body} END IF;
        RETURN NULL;
      END $$`);
    await sql(`CREATE CONSTRAINT TRIGGER z_at_commit AFTER INSERT ON feed
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.at_commit()`);
  };
  const removeTrigger = () => sql('DROP TRIGGER z_at_commit ON feed');

  it('FEED-1: a reader waits for it and delivers later positions after it', async () => {
    const { signals } = engine();
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    const holder = await database.session();
    await holder.query('SELECT pg_advisory_lock(1)');
    await atCommit('slow', 'PERFORM pg_advisory_xact_lock(1);');
    try {
      const slow = store('slow');
      await until('it is committing', async () => {
        const waiting = await sql(
          `SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()`,
        );
        return waiting.length > 0;
      });
      const quick = await store('quick');
      expect((await signals.read({ after })).items).toEqual([]);
      const reading = signals.read({ after, waitMs: 20_000 });
      await holder.query('SELECT pg_advisory_unlock(1)');
      expect((await reading).items.map(({ id }) => id)).toEqual([await slow, quick]);
    } finally {
      await removeTrigger();
    }
  });

  it('FEED-1: a reader skips its position if it fails', async () => {
    const { signals } = engine();
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    await atCommit('doomed', `RAISE EXCEPTION 'doomed';`);
    try {
      await expect(store('doomed')).rejects.toThrow('doomed');
      const id = await store('next');
      const { items } = await signals.read({ after, waitMs: 20_000 });
      expect(items.map((item) => item.id)).toEqual([id]);
    } finally {
      await removeTrigger();
      // Later tests start behind the skipped position and do not wait for other transactions.
      await sql('UPDATE feed_start SET position = (SELECT max(position) FROM feed)');
    }
  });
});

describe('signals.read', () => {
  it('FEED-1: pages of any size join without gaps, also within a large transaction', async () => {
    const { signals } = engine();
    const start = await signals.read({ after: 'latest' });
    const rows = await sql<{ id: string }>(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'github', $2, 'many', now(), '{}' FROM generate_series(1, 25) RETURNING id`,
      [tenant, connection],
    );
    const last = await store('last');
    const seen: string[] = [];
    for (let after = start.nextCursor; seen.length < 26; ) {
      const { items, nextCursor } = await signals.read({ after, limit: 7 });
      expect(items.length).toBeGreaterThan(0);
      seen.push(...items.map(({ id }) => id));
      after = nextCursor;
    }
    expect(seen.slice(0, 25).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
    expect(seen[25]).toBe(last);
  });

  it('FEED-1: continues after the cursor of any single signal', async () => {
    const { signals } = engine();
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    for (let i = 0; i < 5; i++) await store(`n${i}`);
    const { items } = await signals.read({ after });
    expect(items.map(({ kind }) => kind)).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
    const rest = await signals.read({ after: items[2]?.cursor as string });
    expect(rest.items.map(({ kind }) => kind)).toEqual(['n3', 'n4']);
  });

  it('FEED-1: waits for a signal, at most waitMs, and ends when aborted', async () => {
    const { signals } = engine();
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    expect((await signals.read({ after, waitMs: 50 })).items).toEqual([]);
    const waiting = signals.read({ after, waitMs: 30_000 });
    await pause(50);
    const id = await store('awaited');
    expect((await waiting).items.map((item) => item.id)).toEqual([id]);
    const abort = new AbortController();
    const aborted = signals.read({ after: 'latest', waitMs: 30_000, signal: abort.signal });
    await pause(50);
    abort.abort();
    expect((await aborted).items).toEqual([]);
  });

  it('FEED-1: a tenant reads only its own signals', async () => {
    await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [otherTenant]);
    const syncline = engine();
    const { nextCursor: after } = await syncline.signals.read({ after: 'latest' });
    const mine = await store('mine');
    await store('theirs', otherTenant);
    const view = syncline.as({ tenantId: tenant, actor: 'test' });
    const { items, nextCursor } = await view.signals.read({ after });
    expect(items.map(({ id }) => id)).toEqual([mine]);
    expect((await view.signals.read({ after: nextCursor })).items).toEqual([]);
    await expect(view.signals.read({ after, tenantId: otherTenant })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    expect((await syncline.signals.read({ after, tenantId: otherTenant })).items).toHaveLength(1);
  });

  it('FEED-1: filters by kind and provider', async () => {
    const { signals } = engine();
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    await store('other');
    const id = await store('matching');
    expect((await signals.read({ after, kind: 'matching' })).items.map((item) => item.id)).toEqual([id]);
    expect((await signals.read({ after, provider: 'slack' })).items).toEqual([]);
  });

  it.each(['', 'x', 'WyJqb2JzIl0', Buffer.from('["feed","-1"]').toString('base64url')])(
    'FEED-1: rejects an invalid feed cursor: %j',
    async (after) => {
      await expect(engine().signals.read({ after })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );

  it('FEED-1: returns EXPIRED when the next signals were deleted', async () => {
    const old = engine({ retention: { signalsDays: 1 } });
    const { nextCursor: after } = await old.signals.read({ after: 'latest' });
    await store('old');
    await sql(`UPDATE feed SET created_at = now() - interval '2 days'`);
    const kept = await store('kept');
    await old.start({ roles: ['janitor'] });
    await until(
      'the old signal is deleted',
      async () => (await sql(`SELECT FROM signals WHERE kind = 'old'`)).length === 0,
    );
    await expect(old.signals.read({ after })).rejects.toMatchObject({ code: 'EXPIRED' });
    const { items } = await old.signals.read({ after: 'beginning' });
    expect(items.map(({ id }) => id)).toEqual([kept]);
  });
});

describe('a named consumer', () => {
  async function take(syncline: Syncline, count: number): Promise<string[]> {
    const kinds: string[] = [];
    for await (const { kind } of syncline.signals.feed({ consumer: 'name', tenantId: tenant })) {
      kinds.push(kind);
      if (kinds.length === count) break;
    }
    return kinds;
  }

  it('FEED-2: resumes at its current signal; requesting the next one acknowledges it', async () => {
    const syncline = engine();
    await syncline.as({ tenantId: tenant, actor: 'test' }).consumers.move('name', 'latest');
    for (const kind of ['a', 'b', 'c']) await store(kind);
    expect(await take(syncline, 2)).toEqual(['a', 'b']);
    expect(await take(engine(), 2)).toEqual(['b', 'c']);
  });

  it('FEED-2: a new reader takes over the name, and the previous one gets CONFLICT', async () => {
    const syncline = engine();
    await syncline.as({ tenantId: tenant, actor: 'test' }).consumers.move('name', 'latest');
    for (const kind of ['a', 'b']) await store(kind);
    const first = syncline.signals.feed({ consumer: 'name', tenantId: tenant });
    expect((await first.next()).value).toMatchObject({ kind: 'a' });
    expect(await take(engine(), 1)).toEqual(['a']);
    await expect(first.next()).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('FEED-2: belongs to its tenant', async () => {
    const syncline = engine();
    const mine = syncline.as({ tenantId: tenant, actor: 'test' });
    await mine.consumers.move('name', 'beginning');
    expect((await mine.consumers.list()).items.map(({ name }) => name)).toEqual(['name']);
    expect((await syncline.consumers.list()).items).toEqual([]);
    const theirs = syncline.as({ tenantId: otherTenant, actor: 'test' });
    await expect(theirs.consumers.get('name')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(theirs.consumers.delete('name')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await mine.consumers.delete('name');
    await expect(mine.consumers.get('name')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
