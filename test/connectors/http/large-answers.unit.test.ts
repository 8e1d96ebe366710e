import { describe, expect, it } from 'vitest';
import { readPage, type WalkedStream } from '../../../src/connectors/http/walk.ts';
import { type HttpDescription, http } from '../../../src/connectors/index.ts';
import { checkResult } from '../../../src/pipeline/result.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { serve } from '../../support/providers/local-server.ts';

/** Connects to an API that returns `body` for every request. */
async function connectTo(body: string) {
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

describe('http: large responses', () => {
  it('http: rejects a response with more than 2,000,000 values before parsing it', async () => {
    const connection = await connectTo(`[${'{},'.repeat(2_000_000)}{}]`);
    // If it were parsed, the error would be the first record's missing time.
    expect(await connection.run()).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'permanent',
        message: expect.stringMatching(/more than 2000000 JSON values.*smaller pages/),
      },
    });
  });

  it('http: rejects more than 100,000 records before mapping any', async () => {
    // If it were mapped, the error would be the first record's missing time.
    const connection = await connectTo(listOf(100_001, (i) => (i === 0 ? '{}' : '0')));
    expect(await connection.run()).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'permanent',
        message: expect.stringMatching(/100001 records; at most 100000.*pagination\.size/),
      },
    });
  });

  it('http: stores a page of 10,000 records', async () => {
    const connection = await connectTo(listOf(10_000, record));
    expect(await connection.run()).toMatchObject({ outcome: 'succeeded' });
    expect(connection.signals).toHaveLength(10_000);
  });

  it('http: mapping yields to the event loop after every 1,000 records', async () => {
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
    const { signals } = await readPage(stream, { of: '' }, async () => answer, 0);
    expect(signals).toHaveLength(5000);
    turns.stop();
    expect(new Set(seen).size).toBe(5);
  });

  it('EXE-8: validating a result yields to the event loop after every 1,000 signals', async () => {
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

/** Counts event loop iterations. */
function countTurns() {
  let count = 0;
  let isStopped = false;
  const next = () => {
    count++;
    if (!isStopped) setImmediate(next);
  };
  setImmediate(next);
  return {
    count: () => count,
    stop: () => {
      isStopped = true;
    },
  };
}
