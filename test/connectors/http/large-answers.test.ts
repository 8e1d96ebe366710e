import { describe, expect, it } from 'vitest';
import { type WalkedStream, walkOn } from '../../../src/connectors/http/walk.ts';
import { type HttpDescription, http } from '../../../src/connectors/index.ts';
import { checkResult } from '../../../src/pipeline/result.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { serve } from '../../support/providers/local-server.ts';

/** An API with one answer. */
async function answering(body: string) {
  const url = await serve((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(body);
  });
  const description: HttpDescription = {
    provider: 'tracker',
    baseUrl: url,
    auth: { type: 'none' },
    streams: {
      items: {
        request: { path: '/items' },
        signal: { kind: 'item', key: 'id', occurredAt: 'at', immutable: true },
      },
    },
  };
  return connectInMemory(http(description));
}

const record = (id: number) => `{"id":${id},"at":"2025-01-01T00:00:00Z"}`;
const listOf = (count: number, item: (i: number) => string) =>
  `[${Array.from({ length: count }, (_, i) => item(i)).join(',')}]`;

describe('http: large answers', () => {
  it('http: refuses an answer of millions of values before it is parsed', async () => {
    const connection = await answering(`[${'{},'.repeat(2_000_000)}{}]`);
    // Parsed, its first record would be refused for having no time.
    expect(await connection.run()).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'permanent',
        message: expect.stringMatching(/more than 2000000 JSON values.*smaller pages/),
      },
    });
  });

  it('http: refuses more records than a run may return before any is mapped', async () => {
    // The first record has no time: mapped, it would be refused for that.
    const connection = await answering(listOf(100_001, (i) => (i === 0 ? '{}' : '0')));
    expect(await connection.run()).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'permanent',
        message: expect.stringMatching(/100001 records; at most 100000.*pagination\.size/),
      },
    });
  });

  it('http: a page of many records is stored whole', async () => {
    const connection = await answering(listOf(10_000, record));
    expect(await connection.run()).toMatchObject({ outcome: 'succeeded' });
    expect(connection.signals).toHaveLength(10_000);
  });

  it('http: timers and sockets have a turn after every 1,000 records', async () => {
    const turns = countTurns();
    const seen: number[] = [];
    const signal = { kind: 'item', occurredAt: new Date(0), payload: {} };
    const stream: WalkedStream = {
      name: 'items',
      description: { request: { path: '/items' }, signal: { kind: 'item', key: 'id' } },
      toSignal: () => {
        seen.push(turns.count());
        return signal;
      },
      origin: 'http://localhost',
      secretParameter: undefined,
    };
    const records = Array.from({ length: 5000 }, (_, i) => i);
    const answer = { headers: new Headers(), body: records, records, url: '' };
    const { signals } = await walkOn(stream, { of: '' }, async () => answer, 0);
    expect(signals).toHaveLength(5000);
    turns.stop();
    expect(new Set(seen).size).toBe(5);
  });

  it('EXE-8: timers and sockets have a turn while a result of many signals is checked', async () => {
    const turns = countTurns();
    const seen: number[] = [];
    const payload = {
      toJSON: () => {
        seen.push(turns.count());
        return 1;
      },
    };
    const signals = Array.from({ length: 5000 }, () => ({ kind: 'item', occurredAt: new Date(0), payload }));
    const connector = { provider: 'tracker', name: 'Tracker', sync: async () => ({ signals }) } as never;
    const page = await checkResult({ signals }, connector);
    turns.stop();
    expect(page.signals).toHaveLength(5000);
    expect(new Set(seen).size).toBe(5);
  });
});

/** Counts turns of the event loop. */
function countTurns() {
  let count = 0;
  let isOver = false;
  const next = () => {
    count++;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return {
    count: () => count,
    stop: () => {
      isOver = true;
    },
  };
}
