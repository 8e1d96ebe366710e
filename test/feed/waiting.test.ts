import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Ports } from '../../src/platform/ports.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';

const { sql, connect, engine, session } = useDatabase();

let connection: string;
beforeEach(async () => {
  connection = await connect();
});

/** Sleeps below 1 s return immediately and advance the clock; longer ones last until they are aborted. */
function fastClock(onStatement: (statement: string) => void) {
  let elapsedMs = 0;
  const ports: Ports = {
    ...testPorts(),
    query: (statement, send) => {
      onStatement(statement);
      return send();
    },
    sleep: async (ms, signal) => {
      if (ms < 1000) {
        elapsedMs += ms;
        await setImmediate();
      } else if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  };
  return { ports, elapsedMs: () => elapsedMs };
}

const isPoll = (statement: string) => statement.includes('pg_current_snapshot');

/** Number of feed queries by a waiting reader in ten seconds without a commit. */
async function pollsInTenSeconds(after: string): Promise<number> {
  let polls = 0;
  const timeout = new AbortController();
  const { ports, elapsedMs } = fastClock((statement) => {
    if (isPoll(statement)) polls++;
    if (elapsedMs() >= 10_000) timeout.abort();
  });
  const { signals } = engine({ ports });
  await signals.read({ after, waitMs: 30_000, signal: timeout.signal });
  return polls;
}

/** The cursor behind a signal. `latest` may be before it while older transactions run in the cluster. */
async function cursorBehind(kind: string): Promise<string> {
  for (let after = 'beginning'; ; ) {
    const { items, nextCursor } = await engine().signals.read({ after, waitMs: 30_000 });
    if (items.some((item) => item.kind === kind)) return nextCursor;
    after = nextCursor;
  }
}

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  VALUES ($1, 'github', $2, $3, now(), '{}')`;

describe('a waiting feed reader', () => {
  it('FEED-1: queries the feed once while idle, and once a second after skipped positions', async () => {
    await sql(insert, [tenant, connection, 'last']);
    const { nextCursor: end } = await engine().signals.read({ after: 'latest' });
    const polls = await pollsInTenSeconds(end);
    // The first query, and one when the wait ends.
    expect(polls).toBe(2);
    await sql(`SELECT nextval('feed_position') FROM generate_series(1, 32)`);
    const pollsAfterGap = await pollsInTenSeconds(end);
    // When the positions are first seen, shortly after, and then once a second.
    expect(pollsAfterGap).toBeGreaterThan(polls);
    expect(pollsAfterGap).toBeLessThanOrEqual(polls + 2 + 10);
  });

  it('FEED-1: delivers a commit that had a position but was not visible at the first query', async () => {
    const { nextCursor: after } = await engine().signals.read({ after: 'latest' });
    const client = await session();
    await client.query('BEGIN');
    await client.query(insert, [tenant, connection, 'slow']);
    await client.query('SET CONSTRAINTS ALL IMMEDIATE');
    let polls = 0;
    let onPolled = () => {};
    const polledOften = new Promise<void>((resolve) => {
      onPolled = resolve;
    });
    const { ports } = fastClock((statement) => {
      if (isPoll(statement) && ++polls === 4) onPolled();
    });
    const waiting = engine({ ports }).signals.read({ after, waitMs: 30_000 });
    await polledOften;
    await client.query('COMMIT');
    expect((await waiting).items.map(({ kind }) => kind)).toEqual(['slow']);
  });

  it('FEED-3: a sequence that moves back wakes the reader with EXPIRED', async () => {
    for (const kind of ['kept', 'lost']) await sql(insert, [tenant, connection, kind]);
    const after = await cursorBehind('lost');
    let onPolled = () => {};
    const polled = new Promise<void>((resolve) => {
      onPolled = resolve;
    });
    const { ports } = fastClock((statement) => {
      if (isPoll(statement)) onPolled();
    });
    const waiting = engine({ ports }).signals.read({ after, waitMs: 30_000 });
    const ended = expect(waiting).rejects.toMatchObject({ code: 'EXPIRED' });
    await polled;
    await sql(
      `WITH lost AS (DELETE FROM feed WHERE position = (SELECT max(position) FROM feed) RETURNING position)
       SELECT setval('feed_position', position - 1) FROM lost`,
    );
    await ended;
  });
});
