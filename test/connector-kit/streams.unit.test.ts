import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  type StreamsCursor,
  type SyncResult,
  syncStreams,
  TransientError,
} from '../../src/connector-kit/index.ts';

type Cursor = { at: number };
type Step = (name: string, cursor: Cursor | undefined) => SyncResult<Cursor>;

const signal = (name: string, at: number, payload: unknown = at) => ({
  kind: 'item.created',
  occurredAt: new Date(0),
  payload,
  dedupeKey: `${name} ${at}`,
});

/** Three pages with one signal each. */
const threePages: Step = (name, { at } = { at: 0 }) => ({
  signals: [signal(name, at + 1)],
  nextCursor: { at: at + 1 },
  hasMore: at < 2,
});

function run(
  names: string[],
  step: Step,
  cursor?: StreamsCursor<Cursor>,
  options: Parameters<typeof syncStreams>[3] & { attempts?: number; abortSignal?: AbortSignal } = {},
) {
  const { attempts = 0, abortSignal = new AbortController().signal, ...bounds } = options;
  const context = { cursor, abortSignal, log: pino({ level: 'silent' }), job: { attempts } };
  return syncStreams<Cursor>(context, names, async (name, own) => step(name, own), bounds);
}

const failing =
  (broken: string, error: Error, other: Step = threePages): Step =>
  (name, cursor) => {
    if (name === broken) throw error;
    return other(name, cursor);
  };

describe('streams', () => {
  it('kit: streams are read in order, each from its own cursor', async () => {
    const { signals, nextCursor, hasMore } = await run(['a', 'b'], threePages, { streams: { b: { at: 1 } } });
    expect(signals.map(({ dedupeKey }) => dedupeKey)).toEqual(['a 1', 'a 2', 'a 3', 'b 2', 'b 3']);
    expect(nextCursor).toEqual({ streams: { a: { at: 3 }, b: { at: 3 } } });
    expect(hasMore).toBeUndefined();
  });

  it.each([{ maxSteps: 2 }, { maxSignals: 2 }, { maxCharacters: 150 }])(
    'kit: a run ends at its limit %j and the next run continues',
    async (bounds) => {
      const first = await run(['a', 'b'], threePages, undefined, bounds);
      expect(first.signals).toHaveLength(2);
      expect(first.hasMore).toBe(true);
      expect(first.nextCursor?.walk?.left).toEqual(['a', 'b']);
      const second = await run(['a', 'b'], threePages, first.nextCursor ?? undefined);
      expect(second.signals.map(({ dedupeKey }) => dedupeKey)).toEqual(['a 3', 'b 1', 'b 2', 'b 3']);
      expect(second.nextCursor?.walk).toBeUndefined();
    },
  );

  it('kit: an error keeps the signals, and the next run starts with the failing stream', async () => {
    const step = failing('b', new RateLimitedError({ retryAfterSeconds: 5 }));
    const first = await run(['a', 'b'], step);
    expect(first.signals).toHaveLength(3);
    expect(first).toMatchObject({ hasMore: true, nextCursor: { walk: { left: ['b'] } } });
    await expect(run(['a', 'b'], step, first.nextCursor ?? undefined)).rejects.toThrow(RateLimitedError);
  });

  it('EXE-7: a rate limit after some signals delays the next run by the requested wait', async () => {
    const waitAfter = async (error: Error) => (await run(['a', 'b'], failing('b', error))).retryAfterSeconds;
    expect(await waitAfter(new RateLimitedError({ retryAfterSeconds: 5 }))).toBe(5);
    // An invalid wait must not discard the signals.
    expect(await waitAfter(new RateLimitedError({ retryAfterSeconds: '5' }))).toBe('5');
    for (const retryAfterSeconds of [undefined, null, 0, -1, Number.NaN, 'soon'])
      expect(await waitAfter(new RateLimitedError({ retryAfterSeconds }))).toBeUndefined();
    // Parked before the request: the next run parks itself and reports why.
    expect(await waitAfter(new RateLimitedError({ retryAfterSeconds: 5, parked: true }))).toBeUndefined();
    expect(await waitAfter(new TransientError('slow'))).toBeUndefined();
    expect((await run(['a'], threePages)).retryAfterSeconds).toBeUndefined();
  });

  it('EXE-7: a step that returns retryAfterSeconds ends the run', async () => {
    const step: Step = (name, cursor) => ({ ...threePages(name, cursor), retryAfterSeconds: 7 });
    const first = await run(['a', 'b'], step);
    expect(first).toMatchObject({
      hasMore: true,
      retryAfterSeconds: 7,
      nextCursor: { walk: { left: ['a', 'b'] } },
    });
    expect(first.signals).toHaveLength(1);
    // No wait after the last page of a stream.
    const last = await run(['a'], step, { streams: { a: { at: 2 } } });
    expect(last).toEqual({ signals: [signal('a', 3)], nextCursor: { streams: { a: { at: 3 } } } });
  });

  it('kit: a permanent failure blocks no other stream; the run fails only if all fail', async () => {
    const step = failing('a', new PermanentError('gone'));
    const { signals, nextCursor } = await run(['a', 'b'], step, { streams: { a: { at: 7 } } });
    expect(signals).toHaveLength(3);
    expect(nextCursor).toEqual({ streams: { a: { at: 7 }, b: { at: 3 } } });
    await expect(run(['a'], step)).rejects.toThrow(/gone/);
    await expect(run(['a', 'b'], failing('b', new PermanentError('too'), step))).rejects.toThrow('gone too');
  });

  it('kit: a stream is skipped after three failed attempts, unless the next one fails too', async () => {
    const step = failing('a', new TransientError('slow'));
    for (const attempts of [0, 2])
      await expect(run(['a', 'b'], step, undefined, { attempts })).rejects.toThrow('slow');
    const { signals, nextCursor, hasMore } = await run(['a', 'b'], step, undefined, { attempts: 3 });
    expect(signals).toHaveLength(3);
    expect(nextCursor).toEqual({ streams: { b: { at: 3 } } });
    expect(hasMore).toBeUndefined();

    const down = failing('b', new TransientError('slow too'), step);
    await expect(run(['a', 'b', 'c'], down, undefined, { attempts: 9 })).rejects.toThrow('slow too');
    await expect(run(['a'], step, undefined, { attempts: 9 })).rejects.toThrow('slow');
    const limited = failing('a', new RateLimitedError());
    await expect(run(['a', 'b'], limited, undefined, { attempts: 9 })).rejects.toThrow(RateLimitedError);
  });

  it('kit: a stream whose cursor has expired restarts from the beginning', async () => {
    const step: Step = (name, cursor) => {
      if (cursor?.at === 9) throw new CursorExpiredError();
      return threePages(name, cursor);
    };
    const { signals, nextCursor } = await run(['a'], step, { streams: { a: { at: 9 } } });
    expect(signals).toHaveLength(3);
    expect(nextCursor).toEqual({ streams: { a: { at: 3 } } });
    await expect(run(['a'], failing('a', new CursorExpiredError()))).rejects.toThrow(CursorExpiredError);
  });

  it('kit: signals found before every stream failed are kept, and the next run fails', async () => {
    const step: Step = (name, cursor) => {
      if (cursor?.at === 1) throw new PermanentError(`${name} is broken`);
      return threePages(name, cursor);
    };
    const first = await run(['a', 'b'], step);
    expect(first.signals).toHaveLength(2);
    expect(first).toMatchObject({ hasMore: true, nextCursor: { streams: { a: { at: 1 }, b: { at: 1 } } } });
    await expect(run(['a', 'b'], step, first.nextCursor ?? undefined)).rejects.toThrow(
      'a is broken b is broken',
    );
  });

  it('kit: a stream that returns signals before each failure does not loop forever', async () => {
    let calls = 0;
    const step: Step = (name) => {
      if (++calls % 2 === 0) throw new PermanentError(`${name} is broken`);
      return { signals: [signal(name, calls)], nextCursor: { at: calls }, hasMore: true };
    };
    const first = await run(['a'], step);
    await expect(run(['a'], step, first.nextCursor ?? undefined)).rejects.toThrow('a is broken');
  });

  it('kit: a stream whose cursors always expire does not restart in every run of a walk', async () => {
    const step: Step = (name, cursor) => {
      if (cursor?.at === 1) throw new CursorExpiredError();
      return threePages(name, cursor);
    };
    let cursor: StreamsCursor<Cursor> | undefined;
    const runOnce = async (): Promise<void> => {
      const { nextCursor } = await run(['a', 'b'], step, cursor, { maxSteps: 2 });
      cursor = nextCursor ?? undefined;
    };
    const tenRuns = async () => {
      for (let i = 0; i < 10; i++) await runOnce();
    };
    await expect(tenRuns()).rejects.toThrow(/no longer accepts the cursor/);
  });

  it('kit: cursors of removed streams are dropped, also in the middle of a walk', async () => {
    const cursor = { streams: { gone: { at: 1 }, a: { at: 2 } }, walk: { left: ['gone', 'a'], failed: {} } };
    const { nextCursor } = await run(['a'], threePages, cursor);
    expect(nextCursor).toEqual({ streams: { a: { at: 3 } } });
  });

  it('kit: hasMore without progress ends the stream; no cursor keeps the previous one', async () => {
    const noProgress: Step = () => ({ signals: [], nextCursor: { at: 1 }, hasMore: true });
    expect((await run(['a'], noProgress)).nextCursor).toEqual({ streams: { a: { at: 1 } } });
    const noCursor: Step = () => ({ signals: [] });
    const cursor = { streams: { a: { at: 5 } } };
    expect((await run(['a'], noCursor, cursor)).nextCursor).toEqual(cursor);
  });

  it('kit: an aborted run starts no further step', async () => {
    const abortController = new AbortController();
    let steps = 0;
    const step: Step = (name, cursor) => {
      if (++steps === 2) abortController.abort();
      return threePages(name, cursor);
    };
    await run(['a', 'b'], step, undefined, { abortSignal: abortController.signal });
    expect(steps).toBe(2);
  });
});
