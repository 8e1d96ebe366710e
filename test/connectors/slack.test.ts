import { describe, expect, it } from 'vitest';
import { type SlackOptions, slack } from '../../src/connectors/index.ts';
import { dateOf, earlier, latestOf } from '../../src/connectors/slack/timestamps.ts';
import { connectInMemory, crashTest, type MemorySignal } from '../../src/testing/index.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { delivered, type StoredMessage, slackError, startSlack } from '../support/providers/slack.ts';
import { sized } from '../support/size.ts';
import { connectToEngine } from './engine.ts';

const database = useDatabase();
const credential = { type: 'oauth2', accessToken: 'xoxb-token' } as const;

type Provider = Awaited<ReturnType<typeof startSlack>>;

interface Setup {
  config?: Record<string, unknown>;
  filled?: number;
  options?: SlackOptions;
  maxObjects?: number;
}

async function startConnected({ config = {}, filled = 0, options = {}, maxObjects = 999 }: Setup = {}) {
  const provider = await startSlack({ maxObjects });
  provider.open('C1');
  const posted = Array.from({ length: filled }, (_, i) => provider.post('C1', `message ${i}`));
  const connector = slack({ baseUrl: provider.url, pageSize: 3, ...options });
  const memory = { config: { channels: ['C1'], ...config }, credential };
  const { log, lines } = recordingLogger();
  return {
    provider,
    posted,
    connector,
    memory,
    lines,
    connection: connectInMemory(connector, { ...memory, log }),
  };
}

interface Payload extends StoredMessage {
  channel: string;
}

/** Replays the signals into the channel's final state; fails on duplicates. */
function finalState(signals: readonly MemorySignal[], channel = 'C1') {
  const own = signals
    .map(({ kind, payload }) => ({ kind, ...(payload as Payload) }))
    .filter((p) => p.channel === channel);
  const versions = own.map(({ kind, ts, text, edited }) => `${kind} ${ts} ${text} ${edited?.ts}`);
  expect(new Set(versions).size).toBe(versions.length);
  const latest = new Map<string, string>();
  for (const { kind, ts, text } of own)
    if (kind === 'message.deleted') latest.delete(ts);
    else latest.set(ts, text);
  return sorted(latest);
}
const providerState = (provider: Provider, channel = 'C1') =>
  sorted(
    new Map(
      provider
        .truth(channel)
        .filter(({ subtype }) => subtype !== 'tombstone')
        .map(({ ts, text }) => [ts, text]),
    ),
  );
const sorted = (map: Map<string, string>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
const methodsOf = (provider: Provider) =>
  provider.requests.map(({ path }) => path.slice('/conversations.'.length));

describe('slack', () => {
  it('slack: the first sync reads every page, later syncs only new messages', async () => {
    const { provider, connection } = await startConnected({ filled: 8, config: { lookbackSeconds: 0 } });
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
    expect(connection.signals.map(({ kind }) => kind)).toEqual(Array(8).fill('message.posted'));
    const message = provider.post('C1', 'one more');
    provider.requests.length = 0;
    const [ended] = await connection.sync();
    expect([ended?.stored, ended?.absorbed]).toEqual([1, 1]);
    expect(provider.requests).toHaveLength(1);
    expect(connection.cursor).toEqual({ streams: { C1: { watermark: message.ts } } });
    expect(connection.signals.at(-1)?.occurredAt).toBe(
      new Date(Math.floor(Number(message.ts) * 1000)).toISOString(),
    );
  });

  it.each(['newest first', 'oldest first'])(
    'slack: messages posted and edited during a walk are found, with pages %s',
    async (order) => {
      const { provider, posted, connector, memory } = await startConnected({ filled: 10 });
      if (order === 'oldest first') provider.goForward();
      const first = connectInMemory(connector, memory);
      await first.sync();
      for (let i = 0; i < 10; i++) provider.post('C1', `later ${i}`);
      provider.requests.length = 0;
      const connection = connectInMemory(connector, {
        ...memory,
        cursor: first.cursor,
        fetch: async (...request) => {
          const response = await fetch(...request);
          const n = provider.requests.length;
          if (n <= 5) {
            provider.post('C1', `during ${n}`);
            provider.edit('C1', posted[n] as StoredMessage, `edited during ${n}`);
          }
          return response;
        },
      });
      await connection.sync();
      await connection.sync();
      expect(provider.requests.length).toBeGreaterThan(6);
      const newest = providerState(provider).at(-1)?.[0];
      expect(connection.cursor).toEqual({ streams: { C1: { watermark: newest } } });
      expect(finalState([...first.signals, ...connection.signals.filter(isNewTo(first.signals))])).toEqual(
        providerState(provider),
      );
    },
  );

  it('slack: the watermark advances only at the end of the walk', async () => {
    const { provider, connection } = await startConnected({ filled: 8 });
    await connection.sync();
    const before = connection.cursor as { streams: { C1: { watermark: string } } };
    for (let i = 0; i < 8; i++) provider.post('C1', `later ${i}`);
    const broken = { status: 500, body: 'oops' };
    provider.requests.length = 0;
    provider.refuse(
      { body: { ok: true, messages: [], response_metadata: { next_cursor: 'gone' } } },
      broken,
      broken,
      broken,
    );
    await connection.run();
    expect(connection.cursor).toMatchObject({ streams: { C1: { watermark: before.streams.C1.watermark } } });
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it('slack: deleting the newest message does not move the watermark back', async () => {
    const { provider, connection } = await startConnected({ filled: 2 });
    const last = provider.post('C1', 'last');
    await connection.sync();
    provider.remove('C1', last);
    await connection.sync();
    expect(connection.cursor).toEqual({ streams: { C1: { watermark: last.ts } } });
  });

  it('slack: finds edits within the lookback and treats a tombstone as a deletion', async () => {
    const { provider, posted, connection } = await startConnected({
      filled: 3,
      config: { lookbackSeconds: 60 },
    });
    const [, second, third] = posted as [StoredMessage, StoredMessage, StoredMessage];
    provider.pass(3600);
    const fresh = provider.post('C1', 'fresh');
    const parent = provider.post('C1', 'a thread');
    provider.reply('C1', parent, 'a reply');
    await connection.sync();
    provider.edit('C1', fresh, 'edited');
    provider.remove('C1', parent);
    provider.edit('C1', second, 'too long ago');
    provider.remove('C1', third);
    const seen = connection.signals.length;
    await connection.sync();
    expect(
      connection.signals.slice(seen).map(({ kind, payload }) => [kind, (payload as Payload).ts]),
    ).toEqual([
      ['message.deleted', parent.ts],
      ['message.edited', fresh.ts],
    ]);
    const { watermark } = (connection.cursor as { streams: { C1: { watermark: string } } }).streams.C1;
    expect(watermark).toBe(parent.ts);
    expect((await connection.sync()).map(({ stored }) => stored)).toEqual([0]);
  });

  it('slack: reads only threads with new replies', async () => {
    const { provider, connection } = await startConnected({ filled: 2, config: { threads: true } });
    const [first, second] = [provider.post('C1', 'one'), provider.post('C1', 'two')];
    for (let i = 0; i < 7; i++) provider.reply('C1', first, `reply ${i}`);
    provider.reply('C1', second, 'also in the channel', { subtype: 'thread_broadcast' });
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
    expect(connection.signals.filter(({ kind }) => kind === 'message.replied')).toHaveLength(8);

    provider.requests.length = 0;
    await connection.sync();
    expect(methodsOf(provider)).toEqual(['history', 'history']);
    provider.pass(300);
    provider.reply('C1', second, 'much later');
    provider.requests.length = 0;
    await connection.sync();
    expect(methodsOf(provider)).toEqual(['history', 'replies', 'history']);
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it('slack: the next walk finds a reply added after the page of its thread was read', async () => {
    const { provider, connector, memory } = await startConnected({ config: { threads: true } });
    const parents = Array.from({ length: 9 }, (_, i) => provider.post('C1', `parent ${i}`));
    const connection = connectInMemory(connector, {
      ...memory,
      fetch: async (...request) => {
        const response = await fetch(...request);
        // One reply on a page already read, a later one on a page not yet read.
        if (provider.requests.length === 1) {
          provider.reply('C1', parents[8] as StoredMessage, 'behind');
          provider.pass(90);
          provider.reply('C1', parents[0] as StoredMessage, 'ahead');
        }
        return response;
      },
    });
    await connection.sync();
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it('slack: a deleted thread does not block its channel', async () => {
    const { provider, connection, lines } = await startConnected({ filled: 1, config: { threads: true } });
    const parent = provider.post('C1', 'parent');
    provider.reply('C1', parent, 'reply');
    const page = { ok: true, messages: [{ ts: '1.000000', reply_count: 1, latest_reply: '2.000000' }] };
    provider.refuse({ body: page }, slackError('thread_not_found'));
    await connection.sync();
    expect(lines.map(({ msg }) => msg).join()).toMatch(
      /Thread 1\.000000 of C1 no longer exists: .*thread_not_found/,
    );
    await connection.sync();
    expect(finalState(connection.signals).slice(1)).toEqual(providerState(provider));
  });

  it('slack: threads without permission fail their channel until allowed or disabled', async () => {
    const { provider, connector, memory, connection } = await startConnected({ config: { threads: true } });
    const parent = provider.post('C1', 'parent');
    provider.reply('C1', parent, 'reply');
    const shown = { ...parent, thread_ts: parent.ts, reply_count: 1, latest_reply: '1767225699.000000' };
    const refused = slackError('missing_scope');
    provider.refuse({ body: { ok: true, messages: [shown] } }, refused, refused);
    const runs = await connection.sync();
    expect(runs).toMatchObject([{ outcome: 'succeeded', stored: 1 }, { outcome: 'failed' }]);
    expect(runs[1]?.error).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching('missing_scope'),
    });
    const { cursor } = connection;
    const without = connectInMemory(connector, { ...memory, config: { channels: ['C1'] }, cursor });
    expect(await without.sync()).toMatchObject([{ outcome: 'succeeded', hasMore: false }]);
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it('slack: a crash at any point causes neither loss nor duplicates', async () => {
    const { provider, connector, memory } = await startConnected({
      config: { channels: ['C1', 'C2'], threads: true },
    });
    const report = await crashTest(connector, {
      secondCrashes: sized(20, 3),
      ...memory,
      reset: () => {
        provider.empty();
        for (let i = 0; i < 4; i++) provider.post('C1', `message ${i}`);
        const parent = provider.post('C1', 'parent');
        for (let i = 0; i < 4; i++) provider.reply('C1', parent, `reply ${i}`);
        for (let i = 0; i < 2; i++) provider.post('C2', `message ${i}`);
      },
    });
    expect(report.signals).toBe(11);
    expect(report.crashes).toBeGreaterThan(8);
  });

  it('slack: an expired page cursor restarts the walk from the watermark', async () => {
    const { provider, connector, memory, connection } = await startConnected({ filled: 4 });
    await connection.sync();
    for (let i = 0; i < 8; i++) provider.post('C1', `later ${i}`);
    provider.requests.length = 0;
    const later = connectInMemory(connector, {
      ...memory,
      cursor: connection.cursor,
      fetch: async (...request) => {
        const response = await fetch(...request);
        if (provider.requests.length === 2) provider.expirePages();
        return response;
      },
    });
    await later.sync();
    expect(provider.requests.map(({ query }) => query.has('cursor'))).toEqual([
      false,
      true,
      true,
      false,
      true,
      true,
      true,
    ]);
    expect(provider.requests.every(({ query }) => query.has('oldest'))).toBe(true);
    expect(finalState([...connection.signals, ...later.signals.filter(isNewTo(connection.signals))])).toEqual(
      providerState(provider),
    );
  });

  it('slack: page cursors that always expire end the run and keep the watermark', async () => {
    const { provider, connection, lines } = await startConnected({ filled: 2 });
    await connection.sync();
    const before = connection.cursor;
    for (let i = 0; i < 8; i++) provider.post('C1', `later ${i}`);
    provider.alwaysExpirePages(true);
    provider.requests.length = 0;
    await connection.sync({ maxRuns: 20 });
    expect(provider.requests.length).toBeLessThan(12);
    expect(lines.at(-1)?.msg).toMatch(/page cursors expired 4 times/);
    expect(connection.cursor).toEqual(before);
    provider.alwaysExpirePages(false);
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it.each(['invalid_auth', 'token_revoked', 'account_inactive', 'token_expired'])(
    'slack: %s sets needs_auth',
    async (error) => {
      const { provider, connection } = await startConnected({ filled: 1 });
      if (error === 'token_revoked') provider.revoke();
      else provider.refuse(slackError(error));
      const ended = await connection.run();
      expect([ended.error?.kind, connection.status]).toEqual(['unauthorized', 'needs_auth']);
      expect(ended.error?.message).toContain(error);
      expect(ended.error?.message).not.toContain('xoxb');
    },
  );

  it.each([
    ['429', { status: 429, headers: { 'retry-after': '30' }, body: { ok: false, error: 'ratelimited' } }, 30],
    [
      '200 with ratelimited',
      { headers: { 'retry-after': '20' }, body: { ok: false, error: 'ratelimited' } },
      20,
    ],
    ['200 with ratelimited and no time', slackError('ratelimited'), 60],
  ])('slack: %s requeues the job', async (_name, reply, seconds) => {
    const { provider, connection } = await startConnected({ filled: 1 });
    provider.refuse(reply);
    const before = Date.now();
    const ended = await connection.run();
    expect([ended.outcome, ended.error?.kind]).toEqual(['requeued', 'rate_limited']);
    expect(Number(ended.retryAfter) - before).toBeGreaterThanOrEqual(seconds * 1000);
    await connection.sync();
    expect(connection.signals).toHaveLength(1);
  });

  it('slack: a channel that fails does not block the others; the run fails only if all fail', async () => {
    const { provider, connector, memory, connection, lines } = await startConnected({
      filled: 2,
      config: { channels: ['C404', 'C1'] },
    });
    expect((await connection.sync()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
    expect(finalState(connection.signals)).toEqual(providerState(provider));
    expect(lines[0]?.msg).toMatch(/C404 cannot be read: .*channel_not_found/);
    provider.refuse(slackError('not_in_channel'));
    const alone = connectInMemory(connector, { ...memory, config: { channels: ['C1'] } });
    expect((await alone.run()).error).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching(/Invite the app/),
    });
  });

  it('slack: server errors are retried, including those with status 200', async () => {
    const { provider, connection } = await startConnected({ filled: 5 });
    provider.refuse({ status: 503, body: 'no' }, slackError('internal_error'));
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it('slack: each method has its own budget per credential', async () => {
    const taken: string[] = [];
    const { provider, connector, memory } = await startConnected({
      filled: 1,
      config: { threads: true },
      options: { requestsPerMinute: 1, pageSize: 15 },
      maxObjects: 15,
    });
    provider.reply('C1', provider.post('C1', 'parent'), 'reply');
    const connection = connectInMemory(connector, {
      ...memory,
      budgets: {
        take: async (uses) => {
          for (const { budget } of uses)
            taken.push(`${budget.name} ${budget.per} ${budget.limit}/${budget.perSeconds}`);
          return { settle: () => {} };
        },
        learn: () => {},
      },
    });
    await connection.sync();
    expect(taken).toEqual(['conversations.history credential 1/60', 'conversations.replies credential 1/60']);
    expect(provider.requests[0]?.query.get('limit')).toBe('15');
    expect(() => slack({ pageSize: 0 })).toThrow(/pageSize/);
  });

  it('slack: stores thousands of messages once each', async () => {
    const many = sized(10_000, 2000);
    const { provider, connection } = await startConnected({ filled: many, options: { pageSize: 999 } });
    await connection.sync();
    expect(connection.signals).toHaveLength(many);
    expect(finalState(connection.signals)).toEqual(providerState(provider));
  });

  it('slack: a malformed message does not block its channel', async () => {
    const { provider, connection } = await startConnected();
    const odd = {
      ts: '1767225600.000100',
      text: 5,
      edited: {},
      thread_ts: '',
      latest_reply: null,
      reply_count: 'many',
    };
    provider.refuse({ body: { ok: true, messages: [odd, { ts: '1767225600.000200', text: 'fine' }] } });
    await connection.sync();
    expect(connection.signals.map(({ kind }) => kind)).toEqual(['message.posted', 'message.posted']);
  });

  it('slack: channel names instead of ids are rejected with a hint', async () => {
    const { connector } = await startConnected();
    const ended = await connectInMemory(connector, { config: { channels: ['#general'] }, credential }).run();
    expect(ended.error).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching(/channels\.0: must be a channel id/),
    });
  });

  it('slack: the engine stores signals and cursor on Postgres', async () => {
    const { provider, connector } = await startConnected({ filled: 5 });
    const connection = await connectToEngine(
      database,
      connector,
      { channels: ['C1'], threads: true },
      credential,
    );
    await connection.sync();
    const last = provider.post('C1', 'parent');
    provider.reply('C1', last, 'reply');
    await connection.sync();
    expect(await connection.counts()).toEqual({ 'message.posted': 6, 'message.replied': 1 });
    expect(await connection.cursor()).toMatchObject({ streams: { C1: { watermark: last.ts } } });
  });
});

describe('slack timestamps', () => {
  it('slack: compares and shifts message timestamps without loss of precision', () => {
    expect(earlier('1767225600.000001', 3600)).toBe('1767222000.000001');
    expect(earlier('99999999999.999999', 604_800)).toBe('99999395199.999999');
    expect(earlier('10.000001', 3600)).toBe('0.000000');
    expect(latestOf(['99999999999.999998', undefined, '99999999999.999999', '9.999999'])).toBe(
      '99999999999.999999',
    );
    expect(dateOf('1767225600.000999')).toEqual(new Date('2026-01-01T00:00:00.000Z'));
  });
});

describe('slack deliveries', () => {
  const secret = 'signing-secret';
  const nowMs = Date.UTC(2026, 0, 1);
  const connection = { id: '1', config: { channels: ['C1'] } };
  const { webhook } = slack({ signingSecret: secret });
  const reactionTo = (body: unknown) => webhook?.react?.(delivered(body, secret, nowMs), connection);
  const event = (fields: Record<string, unknown>) => ({
    type: 'event_callback',
    event: {
      type: 'message',
      channel: 'C1',
      channel_type: 'channel',
      event_ts: '1767225700.000100',
      ...fields,
    },
  });

  it('slack: accepts deliveries signed with the secret within five minutes', () => {
    const delivery = delivered({ type: 'event_callback' }, secret, nowMs);
    expect(webhook?.secret).toBe(secret);
    expect(webhook?.verify(delivery, secret, nowMs + 299_000)).toBe(true);
    expect(webhook?.verify(delivery, secret, nowMs + 301_000)).toBe(false);
    expect(webhook?.verify(delivery, 'another', nowMs)).toBe(false);
    expect(webhook?.verify({ ...delivery, body: Buffer.from('{}') }, secret, nowMs)).toBe(false);
    expect(webhook?.verify({ ...delivery, headers: {} }, secret, nowMs)).toBe(false);
  });

  it('slack: replies to the URL verification challenge', async () => {
    expect(await reactionTo({ type: 'url_verification', challenge: 'abc' })).toEqual({
      sync: false,
      reply: { challenge: 'abc' },
    });
  });

  it('slack: delivered and polled messages have the same dedupe keys', async () => {
    const { provider, connection: polled } = await startConnected({ config: { threads: true } });
    const message = provider.post('C1', 'posted');
    const reply = provider.reply('C1', message, 'reply');
    const reactions = [await reactionTo(event({ ...message })), await reactionTo(event({ ...reply }))];
    await polled.sync();
    const edited = provider.edit('C1', message, 'edited');
    reactions.push(
      await reactionTo(event({ subtype: 'message_changed', ts: '1767225700.000100', message: edited })),
    );
    await polled.sync();
    provider.remove('C1', message);
    reactions.push(
      await reactionTo(
        event({ subtype: 'message_deleted', deleted_ts: message.ts, previous_message: edited }),
      ),
    );
    await polled.sync();
    const delivered = reactions.flatMap((reaction) => reaction?.signals ?? []);
    expect(reactions.every((reaction) => reaction?.sync)).toBe(true);
    const keyOf = ({ kind, dedupeKey }: { kind: string; dedupeKey?: string | null | undefined }) =>
      `${kind} ${dedupeKey}`;
    expect(delivered.map(keyOf).sort()).toEqual(polled.signals.map(keyOf).sort());
    expect(delivered.map(({ kind }) => kind)).toEqual([
      'message.posted',
      'message.replied',
      'message.edited',
      'message.deleted',
    ]);
  });

  it('slack: ignores other channels; missed and malformed events trigger a sync', async () => {
    expect(await reactionTo(event({ channel: 'C2', ts: '1.000000', text: 'x' }))).toEqual({ sync: false });
    expect(await reactionTo({ type: 'event_callback', event: { type: 'reaction_added' } })).toEqual({
      sync: false,
    });
    expect(await reactionTo({ type: 'app_rate_limited' })).toEqual({ sync: true });
    expect(await reactionTo(event({ ts: 'not a time' }))).toEqual({ sync: true });
    expect(webhook?.react?.({ ...delivered({}, secret, nowMs), body: Buffer.from('{') }, connection)).toEqual(
      { sync: false },
    );
    const withoutHints = slack({ hints: false }).webhook?.react?.(
      delivered(event({ ts: '1.000000', text: 'x' }), secret, nowMs),
      connection,
    );
    expect(await withoutHints).toMatchObject({ sync: false, signals: [{ kind: 'message.posted' }] });
  });
});

/** Drops signals already stored by the connection whose cursor is continued. */
function isNewTo(before: readonly MemorySignal[]) {
  const keys = new Set(before.map(({ dedupeKey }) => dedupeKey));
  return ({ dedupeKey }: MemorySignal) => !keys.has(dedupeKey);
}
