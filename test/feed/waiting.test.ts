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

/** Time passes with short sleeps, at once; long ones last until they are ended. */
function passingTime(onStatement: (statement: string) => void) {
  let passedMs = 0;
  const ports: Ports = {
    ...testPorts(),
    query: (statement, send) => {
      onStatement(statement);
      return send();
    },
    sleep: async (ms, signal) => {
      if (ms < 1000) {
        passedMs += ms;
        await setImmediate();
      } else if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  };
  return { ports, passedMs: () => passedMs };
}

const isLook = (statement: string) => statement.includes('pg_current_snapshot');

/** How often a reader looks at the feed while ten seconds pass in which nothing comes. */
async function looksInTenSeconds(after: string): Promise<number> {
  let looks = 0;
  const over = new AbortController();
  const { ports, passedMs } = passingTime((statement) => {
    if (isLook(statement)) looks++;
    if (passedMs() >= 10_000) over.abort();
  });
  const { signals } = engine({ ports });
  await signals.read({ after, waitMs: 30_000, signal: over.signal });
  return looks;
}

/** The cursor behind a signal. `latest` may lie before it, while transactions that began earlier are running anywhere in the cluster. */
async function cursorBehind(kind: string): Promise<string> {
  for (let after = 'beginning'; ; ) {
    const { items, nextCursor } = await engine().signals.read({ after, waitMs: 30_000 });
    if (items.some((item) => item.kind === kind)) return nextCursor;
    after = nextCursor;
  }
}

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  VALUES ($1, 'github', $2, $3, now(), '{}')`;

describe('a reader that waits for the feed', () => {
  it('looks once while nothing comes, and once a second after positions were given to nobody', async () => {
    await sql(insert, [tenant, connection, 'last']);
    const { nextCursor: end } = await engine().signals.read({ after: 'latest' });
    const looks = await looksInTenSeconds(end);
    // The first look, and one more as it ends.
    expect(looks).toBe(2);
    await sql(`SELECT nextval('feed_position') FROM generate_series(1, 32)`);
    const looksBehind = await looksInTenSeconds(end);
    // As the positions are seen first, a moment later, and then once a second.
    expect(looksBehind).toBeGreaterThan(looks);
    expect(looksBehind).toBeLessThanOrEqual(looks + 2 + 10);
  });

  it('FEED-1: is handed what had its position when it looked, but could not be seen yet', async () => {
    const { nextCursor: after } = await engine().signals.read({ after: 'latest' });
    const client = await session();
    await client.query('BEGIN');
    await client.query(insert, [tenant, connection, 'slow']);
    await client.query('SET CONSTRAINTS ALL IMMEDIATE');
    let looks = 0;
    let hasLooked = () => {};
    const lookedOften = new Promise<void>((resolve) => {
      hasLooked = resolve;
    });
    const { ports } = passingTime((statement) => {
      if (isLook(statement) && ++looks === 4) hasLooked();
    });
    const waiting = engine({ ports }).signals.read({ after, waitMs: 30_000 });
    await lookedOften;
    await client.query('COMMIT');
    expect((await waiting).items.map(({ kind }) => kind)).toEqual(['slow']);
  });

  it('FEED-3: is woken when the sequence goes back, and gets EXPIRED', async () => {
    for (const kind of ['kept', 'lost']) await sql(insert, [tenant, connection, kind]);
    const after = await cursorBehind('lost');
    let hasLooked = () => {};
    const looked = new Promise<void>((resolve) => {
      hasLooked = resolve;
    });
    const { ports } = passingTime((statement) => {
      if (isLook(statement)) hasLooked();
    });
    const waiting = engine({ ports }).signals.read({ after, waitMs: 30_000 });
    const ended = expect(waiting).rejects.toMatchObject({ code: 'EXPIRED' });
    await looked;
    await sql(
      `WITH lost AS (DELETE FROM feed WHERE position = (SELECT max(position) FROM feed) RETURNING position)
       SELECT setval('feed_position', position - 1) FROM lost`,
    );
    await ended;
  });
});
