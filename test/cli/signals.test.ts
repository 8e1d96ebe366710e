import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());
const { run, json, start } = useCli(database);

/** Contains an escape sequence that clears the terminal. */
const hostile = 'text\u001b[2J\u009b2J';

/** Stores a signal with an ID in the future, so that a tail shows it whenever the tail started. */
async function store(connectionId: string, kind: string, payload: unknown = {}): Promise<string> {
  const time = (Date.now() + 3_600_000).toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
  await sql(
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     VALUES ($1, $2, 'github', $3, $4, '2025-01-01T10:00:00Z', $5)`,
    [id, tenant, connectionId, kind, JSON.stringify(payload)],
  );
  return id;
}

const parsed = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('syncline signals list', () => {
  it('signals list: joins pages into one document; without signals the list is empty', async () => {
    const connection = await database.connect();
    expect(await run('signals', 'list', '--json')).toMatchObject({ code: 0, stdout: '{"signals":[]}\n' });
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'github', $2, 'issue.opened', now(), '{}' FROM generate_series(1, 250)`,
      [tenant, connection],
    );
    const { signals } = await json<{ signals: { id: string }[] }>('signals', 'list', '--limit', '220');
    const newest = await sql<{ id: string }>('SELECT id FROM signals ORDER BY id DESC LIMIT 220');
    expect(signals.map(({ id }) => id)).toEqual(newest.map(({ id }) => id));
  });

  it('signals list: applies filters and prints payloads', async () => {
    const [one, other] = [await database.connect(), await database.connect()];
    const id = await store(one, 'issue.opened', { title: hostile });
    const second = await store(other, 'issue.closed');
    const list = async (...filters: string[]) =>
      (await json<{ signals: { id: string }[] }>('signals', 'list', ...filters)).signals;
    const [ofOne, ofKind, newest, none] = await Promise.all([
      list('--connection', one, '--provider', 'github'),
      list('--kind', 'issue.closed'),
      list('--limit', '1'),
      list('--provider', 'slack'),
    ]);
    expect(ofOne).toEqual([
      {
        id,
        tenant_id: tenant,
        provider: 'github',
        connection_id: one,
        connection_name: null,
        job_id: null,
        kind: 'issue.opened',
        occurred_at: '2025-01-01T10:00:00.000Z',
        received_at: expect.stringMatching(/Z$/),
        payload: { title: hostile },
        dedupe_key: null,
      },
    ]);
    expect(ofKind.map((signal) => signal.id)).toEqual([second]);
    expect(newest.map((signal) => signal.id)).toEqual([[id, second].sort()[1]]);
    expect(none).toEqual([]);
  });

  it('signals list: --payload prints each payload escaped and cut to one line', async () => {
    const id = await database.connect();
    await store(id, `kind ${hostile}`, { a: hostile, body: 'x'.repeat(1000) });
    const [without, withPayload] = await Promise.all([
      run('signals', 'list'),
      run('signals', 'list', '--payload'),
    ]);
    expect(without.stdout).toContain('kind text\\u001b[2J\\u009b2J\n');
    const [head, row] = withPayload.stdout.split('\n');
    expect(head?.split(/ {2,}/)).toEqual([
      ...['received', 'occurred', 'provider', 'connection', 'kind', 'payload'],
    ]);
    expect(row).toMatch(/ {2}\{"a":"text\\u001b\[2J\\u009b2J",.*…$/);
    expect(row?.length).toBe(160);
  });

  it('signals list: rejects an invalid filter and reports an empty list', async () => {
    const [limit, none] = await Promise.all([
      run('signals', 'list', '--limit', '1001'),
      run('signals', 'list'),
    ]);
    expectFailure(limit, /--limit must be a whole number from 1 to 1000, got 1001/);
    expect(none).toMatchObject({ code: 0, stdout: 'No signals found.\n' });
  });
});

/** Stores signals until the starting tail prints one; returns the last ID. */
async function storeUntilSeen(
  tail: ReturnType<typeof start>,
  storeOne: () => Promise<string>,
): Promise<string> {
  let seen = '';
  tail.process.stdout?.on('data', (text: Buffer) => (seen += text.toString()));
  for (;;) {
    const id = await storeOne();
    for (let i = 0; i < 20 && seen === ''; i++) await new Promise((resolve) => setTimeout(resolve, 50));
    if (seen !== '') return id;
  }
}

describe('syncline signals tail', () => {
  it('signals tail: --json prints one object per new signal until SIGINT', async () => {
    const [one, other] = [await database.connect(), await database.connect()];
    const tail = start(['signals', 'tail', '--json', '--connection', one, '--kind', 'wanted']);
    const first = await storeUntilSeen(tail, () => store(one, 'wanted', { n: 1, text: hostile }));
    await store(one, 'unwanted');
    await store(other, 'wanted');
    const second = await store(one, 'wanted', { n: 2 });
    await tail.output(new RegExp(second));
    tail.process.kill('SIGINT');
    const { code, stdout, stderr } = await tail.finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const seen = parsed(stdout) as { id: string }[];
    expect(seen.slice(seen.findIndex(({ id }) => id === first))).toMatchObject([
      { id: first, connection_id: one, kind: 'wanted', payload: { n: 1, text: hostile } },
      { id: second, payload: { n: 2 } },
    ]);
  });

  it('signals tail: prints one line per signal', async () => {
    const id = await database.connect();
    const tail = start(['signals', 'tail', '--payload']);
    await storeUntilSeen(tail, () => store(id, hostile, { text: 'x'.repeat(1000) }));
    tail.process.kill('SIGTERM');
    const { code, stdout, stderr } = await tail.finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Waiting for signals. Press Ctrl-C to stop.\n' });
    expect(stdout).toMatch(
      new RegExp(`^20\\S+Z {2}github {2}${id} {2}text\\\\u001b\\[2J\\\\u009b2J {2}\\{"text":"x+…\n`),
    );
  });

  it('signals tail: exits without error when its output is closed', async () => {
    const id = await database.connect();
    const tail = start(['signals', 'tail']);
    await storeUntilSeen(tail, () => store(id, 'first'));
    tail.process.stdout?.destroy();
    await store(id, 'second');
    expect(await tail.finished).toMatchObject({
      code: 0,
      stderr: 'Waiting for signals. Press Ctrl-C to stop.\n',
    });
  });

  it('signals tail: rejects an invalid filter', async () => {
    expectFailure(await run('signals', 'tail', '--connection', 'mine'), /connection must be .*, got "mine"/);
  });
});
