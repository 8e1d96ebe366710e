import { beforeEach, describe, expect, it } from 'vitest';
import { startService } from '../http/service.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { feedBackups } from '../support/feed-backup.ts';
import { runJanitor } from '../support/janitor.ts';
import { databaseUrl, onServer } from '../support/postgres.ts';

const database = useDatabase();
const { sql, connect, engine, session } = database;
const backups = feedBackups(database);

let connection: string;
beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM consumers');
  await skipGaps();
  connection = await connect();
});

/** Starts behind all gaps: whether one may still fill depends on every transaction of the server. */
const skipGaps = () => sql('UPDATE feed_start SET position = (SELECT last_value FROM feed_position)');

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  SELECT $1, 'github', $2, kind, now(), '{}' FROM unnest($3::text[]) AS kind`;
const store = (...kinds: string[]) => sql(insert, [tenant, connection, kinds]);

const kindsOf = (items: { kind: string }[]) => items.map(({ kind }) => kind);
const expired = { code: 'EXPIRED' };

/** The cursor format of an earlier release. */
function withoutProof(cursor: string): string {
  const [kind, ...parts] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
  return Buffer.from(JSON.stringify([kind, ...parts.slice(0, -2)])).toString('base64url');
}

const partsOf = (cursor: string) =>
  JSON.parse(Buffer.from(cursor, 'base64url').toString()) as (string | undefined)[];

const sequence = async () =>
  (
    await sql<{ last: number; highest: number; epoch: number }>(
      `SELECT (SELECT last_value::int FROM feed_position) AS last, (SELECT max(position)::int FROM feed) AS highest, epoch FROM feed_start`,
    )
  )[0];

describe('a database restored to an earlier backup', () => {
  /** Takes a backup, reads on, restores it; returns cursors of before and after the backup. */
  async function restoreBackup() {
    const { signals } = engine();
    await store('before');
    const { nextCursor: before } = await signals.read({ after: 'latest' });
    const backup = await backups.take();
    await store('lost 1', 'lost 2');
    await store('lost 3');
    const within = (await signals.read({ after: before, limit: 1 })).nextCursor;
    const { nextCursor: after } = await signals.read({ after: before });
    await backups.restore(backup);
    return { before, within, after };
  }

  it.each([
    { reader: 'the operator', view: () => engine() },
    { reader: 'a tenant', view: () => engine().as({ tenantId: tenant, actor: 'test' }) },
  ])(
    'FEED-3: a cursor of the lost history is EXPIRED for $reader, also after the sequence has passed it',
    async ({ view }) => {
      const { before, within, after } = await restoreBackup();
      const { signals } = view();
      const expectExpired = async () => {
        for (const cursor of [within, after])
          await expect(signals.read({ after: cursor })).rejects.toMatchObject({
            ...expired,
            message: expect.stringMatching(/restored or replaced/),
            hint: expect.stringMatching(/beginning.*latest/),
          });
      };
      await expectExpired();
      for (const kind of ['new 1', 'new 2', 'new 3']) await store(kind);
      await expectExpired();
      expect(kindsOf((await signals.read({ after: before })).items)).toEqual(['new 1', 'new 2', 'new 3']);
    },
  );

  it('FEED-3: over HTTP a lost cursor gets 410, and the consumer can be moved', async () => {
    const { after } = await restoreBackup();
    await store('new 1');
    const { call } = await startService(database);
    const put = (to: string) => call('/v1/consumers/name', { method: 'PUT', json: { after: to } });
    const read = () => call('/v1/signals/feed?consumer=name');
    await put(after);
    expect((await read()).body).toMatchObject({ status: 410, code: 'EXPIRED' });
    await put('latest');
    expect(await read()).toMatchObject({ status: 200, body: { items: [] } });
  });

  it('FEED-3: a consumer moved to a lost cursor gets EXPIRED until it is moved again', async () => {
    const { after } = await restoreBackup();
    const { signals, consumers } = engine();
    await consumers.move('name', after);
    await store('new 1');
    await expect(signals.read({ consumer: 'name' })).rejects.toMatchObject(expired);
    await expect(signals.feed({ consumer: 'name' }).next()).rejects.toMatchObject(expired);
    await consumers.move('name', 'beginning');
    expect(kindsOf((await signals.read({ consumer: 'name' })).items).slice(-2)).toEqual(['before', 'new 1']);
  });

  it('FEED-3: a cursor of an earlier release is EXPIRED beyond the sequence, else continues', async () => {
    const { before, within, after } = await restoreBackup();
    const { signals } = engine();
    for (const cursor of [within, after])
      await expect(signals.read({ after: withoutProof(cursor) })).rejects.toMatchObject(expired);
    const { items, nextCursor } = await signals.read({ after: withoutProof(before) });
    expect([items, nextCursor]).toEqual([[], before]);
    await sql(
      `INSERT INTO consumers (tenant_id, name, after, created_at, moved_at) VALUES ($1, 'old', $2, now(), now())`,
      ['00000000-0000-0000-0000-000000000000', withoutProof(before)],
    );
    await store('new 1', 'new 2');
    const page = await signals.read({ consumer: 'old', limit: 1 });
    expect(kindsOf(page.items)).toHaveLength(1);
    expect(partsOf(page.nextCursor)).toHaveLength(6);
    expect(
      kindsOf((await signals.read({ after: withoutProof(page.nextCursor) })).items)
        .concat(kindsOf(page.items))
        .toSorted(),
    ).toEqual(['new 1', 'new 2']);
  });

  it('FEED-3: a cursor of an earlier release at a missing position continues behind it', async () => {
    const { signals } = engine();
    await store('before');
    const { nextCursor: before } = await signals.read({ after: 'latest' });
    const [row] = await sql<{ position: string }>(`SELECT nextval('feed_position')::text AS position`);
    const gap = Buffer.from(JSON.stringify(['feed', row?.position])).toString('base64url');
    expect(await signals.read({ after: gap })).toEqual({ items: [], nextCursor: before });
    await store('after');
    expect(kindsOf((await signals.read({ after: gap, waitMs: 20_000 })).items)).toEqual(['after']);
  });

  it('FEED-3: a reader waiting while the database is restored gets EXPIRED', async () => {
    const { signals } = engine();
    await store('before');
    const backup = await backups.take();
    await store('lost');
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    const waiting = signals.read({ after, waitMs: 30_000 });
    const feed = signals.feed({ after }).next();
    const both = Promise.allSettled([waiting, feed]);
    await backups.restore(backup);
    expect(await both).toMatchObject([{ reason: expired }, { reason: expired }]);
  });

  it('FEED-3: a reader waits for a commit at a position that the lost history skipped', async () => {
    const { signals } = engine();
    await store('before');
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    const backup = await backups.take();
    await sql(`SELECT nextval('feed_position')`);
    await store('lost');
    expect(kindsOf((await signals.read({ after, waitMs: 20_000 })).items)).toEqual(['lost']);
    await backups.restore(backup);
    const slow = await session();
    await slow.query('BEGIN');
    await slow.query(insert, [tenant, connection, ['slow']]);
    await slow.query('SET CONSTRAINTS ALL IMMEDIATE');
    await store('quick');
    expect((await signals.read({ after })).items).toEqual([]);
    await slow.query('COMMIT');
    expect(kindsOf((await signals.read({ after, waitMs: 20_000 })).items)).toEqual(['slow', 'quick']);
  });

  it('FEED-3: a cursor at the start of the feed is compared with the deleted batch', async () => {
    const { signals } = engine();
    const deleteAll = async () => {
      await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
      await runJanitor(database, { retention: { signalsDays: 1 } });
    };
    await store('before');
    const backup = await backups.take();
    await store('lost');
    const { nextCursor: lost } = await signals.read({ after: 'latest' });
    await deleteAll();
    const { nextCursor: lostStart } = await signals.read({ after: 'beginning' });
    expect(lostStart).toBe(lost);
    expect((await signals.read({ after: lost })).items).toEqual([]);
    await backups.restore(backup);
    await store('other');
    const { nextCursor: other } = await signals.read({ after: 'latest' });
    expect(partsOf(other)[1]).toBe(partsOf(lost)[1]);
    await deleteAll();
    expect((await signals.read({ after: other })).items).toEqual([]);
    await expect(signals.read({ after: lost })).rejects.toMatchObject(expired);
  });
});

it('FEED-3: a cursor older than a copy of the database works there; later ones are EXPIRED', async () => {
  const first = engine();
  await store('shared');
  const { nextCursor: shared } = await first.signals.read({ after: 'latest' });
  await first.stop();
  const name = new URL(database.url).pathname.slice(1);
  const copy = `${name}_copy`;
  await onServer(database.url.replace(name, 'postgres'), async (client) => {
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    await client.query(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  });
  await store('only in the original');
  const { nextCursor: original } = await engine().signals.read({ after: shared });
  const copied = engine({ database: databaseUrl(database.url, copy) });
  await expect(copied.signals.read({ after: original })).rejects.toMatchObject(expired);
  await onServer(databaseUrl(database.url, copy), (client) =>
    client.query(insert, [tenant, connection, ['only in the copy']]),
  );
  await expect(copied.signals.read({ after: original })).rejects.toMatchObject(expired);
  expect(kindsOf((await copied.signals.read({ after: shared })).items)).toEqual(['only in the copy']);
  await copied.stop();
  await onServer(database.url, (client) => client.query(`DROP DATABASE ${copy} WITH (FORCE)`));
});

describe('a sequence behind the stored positions', () => {
  const resetSequence = () => sql(`SELECT setval('feed_position', 1, false)`);

  it('FEED-4: the next commit gets a position above all others and is delivered', async () => {
    const { signals } = engine();
    for (const kind of ['a', 'b', 'c']) await store(kind);
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    const epoch = (await sequence())?.epoch ?? Number.NaN;
    await resetSequence();
    expect((await signals.read({ after })).items).toEqual([]);
    await store('d');
    const page = await signals.read({ after });
    expect(kindsOf(page.items)).toEqual(['d']);
    expect(partsOf(page.nextCursor)[2]).toBe(String(epoch + 1));
    expect(await sequence()).toMatchObject({ epoch: epoch + 1 });
  });

  it('FEED-4: the next commit is delivered also after all signals were deleted', async () => {
    const { signals } = engine();
    await store('old');
    const { nextCursor: after } = await signals.read({ after: 'latest' });
    await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
    await runJanitor(database, { retention: { signalsDays: 1 } });
    await resetSequence();
    await store('new');
    for (const from of [after, 'beginning'])
      expect(kindsOf((await signals.read({ after: from })).items)).toEqual(['new']);
  });

  it.each([{ behind: 5 }, { behind: 5000 }])(
    'FEED-4: commits of 20 sessions are delivered once while the sequence is $behind behind',
    async ({ behind }) => {
      const { signals } = engine();
      await sql(`SELECT setval('feed_position', last_value + $1) FROM feed_position`, [behind]);
      await skipGaps();
      await store('before');
      let { nextCursor: after } = await signals.read({ after: 'latest' });
      await sql(`SELECT setval('feed_position', last_value - $1) FROM feed_position`, [behind]);
      const writers = await Promise.all(Array.from({ length: 20 }, () => session()));
      await Promise.all(
        writers.map(async (client, n) => {
          for (let i = 0; i < 5; i++) await client.query(insert, [tenant, connection, [`${n}.${i}`]]);
        }),
      );
      const seen: string[] = [];
      while (seen.length < 100) {
        const page = await signals.read({ after, limit: 100, waitMs: 20_000 });
        expect(page.items.length).toBeGreaterThan(0);
        seen.push(...kindsOf(page.items));
        after = page.nextCursor;
      }
      expect(new Set(seen).size).toBe(100);
      expect((await signals.read({ after })).items).toEqual([]);
    },
  );

  it('FEED-4: five processes that start in parallel repair the sequence once', async () => {
    await store('a');
    await resetSequence();
    const before = await sequence();
    await Promise.all(Array.from({ length: 5 }, () => engine().start({ roles: ['janitor'] })));
    const { highest, epoch = 0 } = before ?? {};
    expect(await sequence()).toEqual({ last: highest, highest, epoch: epoch + 1 });
  });
});
