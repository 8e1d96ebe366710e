import { describe, expect, it } from 'vitest';
import { googleCalendar } from '../../src/connectors/index.ts';
import { connectInMemory, crashTest, type MemorySignal } from '../../src/testing/index.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { problem, startGoogleCalendar } from '../support/providers/google-calendar.ts';
import { sized } from '../support/size.ts';
import { connectToEngine } from './engine.ts';

const database = useDatabase();
const credential = { type: 'oauth2', accessToken: 'google-token' } as const;

async function startConnected(config: Record<string, unknown> = {}, filled = 0) {
  const google = await startGoogleCalendar();
  for (let i = 0; i < filled; i++) google.put('primary', `ev${String(i).padStart(5, '0')}`);
  const connector = googleCalendar({ baseUrl: google.url });
  const options = { config: { calendars: ['primary'], ...config }, credential };
  const { log, lines } = recordingLogger();
  return { google, connector, options, lines, connection: connectInMemory(connector, { ...options, log }) };
}

interface Payload {
  calendar: string;
  id: string;
  etag: string;
  status: string;
}
const payloadOf = ({ payload }: MemorySignal) => payload as Payload;

/** Replays the signals into the calendar's final state; fails on duplicates. */
function finalState(signals: readonly MemorySignal[], calendar = 'primary') {
  const own = signals.map(payloadOf).filter((payload) => payload.calendar === calendar);
  expect(new Set(own.map(({ id, etag }) => `${id} ${etag}`)).size).toBe(own.length);
  const latest = new Map(own.map(({ calendar: _, ...event }) => [event.id, event]));
  return [...latest.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
const providerState = (google: Awaited<ReturnType<typeof startGoogleCalendar>>, calendar = 'primary') =>
  google.truth(calendar).sort((a, b) => (a.id < b.id ? -1 : 1));

describe('google-calendar', () => {
  it('google-calendar: the first sync reads every page, later syncs only changes', async () => {
    const { google, connection } = await startConnected({ pageSize: 3 }, 8);
    expect((await connection.sync()).every(({ outcome }) => outcome === 'succeeded')).toBe(true);
    expect(connection.signals.map(({ kind }) => kind)).toEqual(Array(8).fill('event.created'));
    expect(finalState(connection.signals)).toEqual(providerState(google));

    google.put('primary', 'ev00002', { summary: 'moved' });
    google.remove('primary', 'ev00005');
    google.put('primary', 'new');
    google.requests.length = 0;
    await connection.sync();
    expect(connection.signals.slice(8).map(({ kind }) => kind)).toEqual([
      'event.updated',
      'event.cancelled',
      'event.created',
    ]);
    expect(finalState(connection.signals)).toEqual(providerState(google));
    expect(google.requests).toHaveLength(1);
    expect((await connection.sync()).map(({ stored }) => stored)).toEqual([0]);
  });

  it('google-calendar: changes during the walk cause neither loss nor duplicates', async () => {
    const { google, connector, options } = await startConnected({ pageSize: 4 }, 20);
    const connection = connectInMemory(connector, {
      ...options,
      fetch: async (...request) => {
        const response = await fetch(...request);
        const n = google.requests.length;
        if (n <= 6) {
          google.put('primary', 'ev00001', { summary: `behind ${n}` });
          google.put('primary', 'ev00019', { summary: `ahead ${n}` });
          google.put('primary', `a-new-${n}`);
          google.remove('primary', `ev000${String(4 + n).padStart(2, '0')}`);
        }
        return response;
      },
    });
    await connection.sync();
    await connection.sync();
    expect(google.requests.length).toBeGreaterThan(6);
    // Events deleted before the walk reached them cannot be observed.
    const seen = new Set(connection.signals.map((signal) => payloadOf(signal).id));
    expect(finalState(connection.signals)).toEqual(providerState(google).filter(({ id }) => seen.has(id)));
    expect(providerState(google).filter(({ status, id }) => status === 'confirmed' && !seen.has(id))).toEqual(
      [],
    );
  });

  it('google-calendar: a crash at any point causes neither loss nor duplicates', async () => {
    const { google, connector, options } = await startConnected({
      pageSize: 3,
      calendars: ['primary', 'team'],
    });
    const report = await crashTest(connector, {
      secondCrashes: sized(20, 3),
      ...options,
      reset: () => {
        google.empty();
        for (let i = 0; i < 7; i++) google.put('primary', `ev${i}`);
        for (let i = 0; i < 4; i++) google.put('team', `ev${i}`);
      },
    });
    expect(report.signals).toBe(11);
    expect(report.crashes).toBeGreaterThan(8);
  });

  it('google-calendar: an expired sync token restarts only its calendar', async () => {
    const { google, connection } = await startConnected({ calendars: ['primary', 'team'] }, 3);
    for (const id of ['t1', 't2']) google.put('team', id);
    await connection.sync();
    google.expire('sync', 'team');
    google.put('team', 't2', { summary: 'changed meanwhile' });
    google.remove('team', 't1');
    google.requests.length = 0;
    const runs = await connection.sync();
    expect(runs.map(({ outcome, stored, absorbed }) => ({ outcome, stored, absorbed }))).toEqual([
      { outcome: 'succeeded', stored: 1, absorbed: 0 },
    ]);
    expect(google.requests.map(({ path, query }) => [path, query.has('syncToken')])).toEqual([
      ['/calendars/primary/events', true],
      ['/calendars/team/events', true],
      ['/calendars/team/events', false],
    ]);
    // A full list omits events deleted before it, so t1 keeps its last known state.
    expect(finalState(connection.signals, 'team').map(({ id, status }) => [id, status])).toEqual([
      ['t1', 'confirmed'],
      ['t2', 'confirmed'],
    ]);
    google.remove('team', 't2');
    await connection.sync();
    expect(connection.signals.at(-1)?.kind).toBe('event.cancelled');
  });

  it('google-calendar: an expired page token restarts the walk from the sync token', async () => {
    const { google, connector, options, connection } = await startConnected({ pageSize: 2 }, 5);
    await connection.sync();
    for (let i = 0; i < 5; i++) google.put('primary', `ev0000${i}`, { summary: 'again' });
    google.requests.length = 0;
    const later = connectInMemory(connector, {
      ...options,
      cursor: connection.cursor,
      fetch: async (...request) => {
        const response = await fetch(...request);
        if (google.requests.length === 2) google.expire('page');
        return response;
      },
    });
    await later.sync();
    expect(finalState(later.signals)).toEqual(providerState(google));
    // Two pages, the rejected one, then all three again, each with the sync token.
    expect(google.requests.map(({ query }) => query.has('pageToken'))).toEqual([
      false,
      true,
      true,
      false,
      true,
      true,
    ]);
    expect(google.requests.every(({ query }) => query.has('syncToken'))).toBe(true);
  });

  it('google-calendar: page tokens that always expire end the run and keep the sync token', async () => {
    const { google, connection, lines } = await startConnected({ pageSize: 2 }, 5);
    await connection.sync();
    for (let i = 0; i < 5; i++) google.put('primary', `ev0000${i}`, { summary: 'again' });
    google.alwaysExpirePages(true);
    google.requests.length = 0;
    const runs = await connection.sync({ maxRuns: 20 });
    expect(runs.every(({ outcome }) => outcome === 'succeeded')).toBe(true);
    expect(google.requests.length).toBeLessThan(12);
    expect(lines.some(({ msg }) => /page tokens expired 4 times/.test(msg))).toBe(true);
    google.alwaysExpirePages(false);
    google.requests.length = 0;
    await connection.sync();
    expect(google.requests.every(({ query }) => query.has('syncToken'))).toBe(true);
    expect(finalState(connection.signals)).toEqual(providerState(google));
  });

  it('google-calendar: a last page without a sync token keeps the previous one', async () => {
    const { google, connection, lines } = await startConnected({}, 2);
    await connection.sync();
    const before = connection.cursor;
    google.withholdSyncTokens(true);
    google.put('primary', 'ev00001', { summary: 'changed' });
    await connection.sync();
    expect(connection.cursor).toEqual(before);
    expect(connection.signals).toHaveLength(3);
    expect(lines.at(-1)?.msg).toMatch(/has no sync token/);
  });

  it('google-calendar: changed request parameters restart without the old token', async () => {
    const { google, connector, options, connection } = await startConnected({}, 1);
    google.put('primary', 'weekly', { occurrences: 3 });
    await connection.sync();
    expect(finalState(connection.signals).map(({ id }) => id)).toEqual(['ev00000', 'weekly']);
    const singly = connectInMemory(connector, {
      ...options,
      config: { ...options.config, singleEvents: true },
      cursor: connection.cursor,
    });
    google.requests.length = 0;
    expect((await singly.sync()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
    expect(google.requests.map(({ query }) => query.has('syncToken'))).toEqual([false]);
    expect(finalState(singly.signals).map(({ id }) => id)).toEqual([
      'ev00000',
      'weekly_0',
      'weekly_1',
      'weekly_2',
    ]);
    google.put('primary', 'weekly', { summary: 'renamed' });
    expect((await singly.sync()).map(({ stored }) => stored)).toEqual([3]);
  });

  it.each([
    ['403 rateLimitExceeded', problem(403, 'rateLimitExceeded', 'Rate Limit Exceeded'), 60],
    ['403 userRateLimitExceeded', problem(403, 'userRateLimitExceeded', 'User Rate Limit Exceeded'), 60],
    ['403 quotaExceeded', problem(403, 'quotaExceeded', 'Calendar usage limits exceeded.'), 60],
    ['429', problem(429, 'rateLimitExceeded', 'Rate Limit Exceeded', { 'retry-after': '17' }), 17],
  ])('google-calendar: %s requeues the job', async (_name, reply, seconds) => {
    const { google, connection } = await startConnected({}, 1);
    google.refuse(reply);
    const before = Date.now();
    const ended = await connection.run();
    expect([ended.outcome, ended.error?.kind]).toEqual(['requeued', 'rate_limited']);
    expect(Number(ended.retryAfter) - before).toBeGreaterThanOrEqual(seconds * 1000);
    await connection.sync();
    expect(connection.signals).toHaveLength(1);
  });

  it('google-calendar: a forbidden or missing calendar does not block the others', async () => {
    const { google, connection, lines } = await startConnected(
      { calendars: ['private', 'primary', 'gone'] },
      2,
    );
    google.put('private', 'secret');
    google.refuse(problem(403, 'forbidden', 'Forbidden'));
    expect((await connection.sync()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
    expect(connection.signals).toHaveLength(2);
    expect(lines.map(({ msg }) => msg).join()).toMatch(
      /private cannot be read: .*does not allow.*gone cannot be read: .*404/s,
    );
  });

  it('google-calendar: server errors are retried and keep the signals read so far', async () => {
    const { google, connection } = await startConnected({ pageSize: 2 }, 6);
    google.refuse(problem(500, 'backendError', 'Backend Error'));
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(google));
    const broken = problem(503, 'backendError', 'Backend Error');
    google.put('primary', 'late');
    google.refuse(broken, broken, broken);
    expect((await connection.run()).error?.kind).toBe('transient');
    await connection.sync();
    expect(finalState(connection.signals)).toEqual(providerState(google));
  });

  it.each([
    ['a revoked token', undefined],
    ['insufficient consent', problem(403, 'insufficientPermissions', 'Insufficient Permission')],
  ])('google-calendar: %s sets needs_auth', async (_name, reply) => {
    const { google, connection } = await startConnected({}, 1);
    if (reply) google.refuse(reply);
    else google.revoke();
    const ended = await connection.run();
    expect([ended.outcome, ended.error?.kind, connection.status]).toEqual([
      'failed',
      'unauthorized',
      'needs_auth',
    ]);
    expect(ended.error?.message).not.toContain('google-token');
  });

  it('google-calendar: stores thousands of events once each', async () => {
    const many = sized(10_000, 2000);
    const { google, connection } = await startConnected({ pageSize: many / 4 }, many);
    await connection.sync();
    expect(connection.signals).toHaveLength(many);
    expect(finalState(connection.signals)).toEqual(providerState(google));
    expect(google.requests).toHaveLength(4);
  });

  it('google-calendar: notifications need the channel token, and only changes trigger a sync', async () => {
    const { webhook } = googleCalendar();
    const delivery = (headers: Record<string, string>) => ({
      method: 'POST',
      headers,
      body: Buffer.alloc(0),
    });
    const verifies = (token: string) =>
      webhook?.verify(delivery({ 'x-goog-channel-token': token }), 'secret', 0);
    expect([verifies('secret'), verifies('secreT'), verifies('')]).toEqual([true, false, false]);
    expect(webhook?.verify(delivery({}), '', 0)).toBe(false);
    const reaction = (state: string) =>
      webhook?.react?.(delivery({ 'x-goog-resource-state': state }), { id: '1', config: {} });
    expect([reaction('sync'), reaction('exists')]).toEqual([{ sync: false }, { sync: true }]);
  });

  it('google-calendar: OAuth requests offline access', () => {
    const { oauth2 } = googleCalendar({ oauth2: { clientId: 'id', clientSecret: 'secret' } });
    expect(oauth2).toMatchObject({
      clientId: 'id',
      tokenUrl: 'https://oauth2.googleapis.com/token',
      authorizationParameters: { access_type: 'offline', prompt: 'consent' },
    });
    expect(googleCalendar().oauth2).toBeUndefined();
  });

  it('google-calendar: the engine stores signals and cursor on Postgres', async () => {
    const { google, connector } = await startConnected({}, 5);
    const config = { calendars: ['primary'], pageSize: 2 };
    const connection = await connectToEngine(database, connector, config, credential);
    await connection.sync();
    google.put('primary', 'ev00001', { summary: 'changed' });
    await connection.sync();
    expect(await connection.counts()).toEqual({ 'event.created': 5, 'event.updated': 1 });
    expect(await connection.cursor()).toEqual({
      streams: { primary: { singleEvents: false, syncToken: expect.any(String) } },
    });
  });
});
