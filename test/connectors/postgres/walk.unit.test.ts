import { describe, expect, it } from 'vitest';
import { finishWalk, startOf, type TableCursor } from '../../../src/connectors/postgres/walk.ts';

const cursor = (walks: [next: number, highest: string][], xmin: number | null): TableCursor => ({
  of: 'a table',
  watermark: ['9', '1'],
  walks: walks.map(([next, highest]) => ({ next: String(next), highest })),
  xmin: xmin === null ? null : String(xmin),
});
const snapshot = (xmin: number, next: number, highest: string) => ({
  xmin: String(xmin),
  next: String(next),
  highest,
});

describe('start of a walk', () => {
  it('postgres: the first walk starts at the first row', () => {
    expect(startOf(cursor([], null), snapshot(5, 5, '9'), true)).toEqual({ from: null, sinceXid: null });
  });

  it('postgres: without open transactions, a walk starts at the end of the last one', () => {
    expect(
      startOf(
        cursor(
          [
            [10, '3'],
            [20, '5'],
          ],
          20,
        ),
        snapshot(30, 30, '9'),
        true,
      ),
    ).toEqual({ from: '5', sinceXid: '20' });
  });

  it('postgres: a walk goes back to the last walk that started before the oldest open transaction', () => {
    const walks: [number, string][] = [
      [10, '3'],
      [20, '5'],
      [30, '7'],
    ];
    expect(startOf(cursor(walks, 25), snapshot(40, 40, '9'), true)).toEqual({ from: '5', sinceXid: '25' });
    expect(startOf(cursor(walks, 19), snapshot(40, 40, '9'), true)).toEqual({ from: '3', sinceXid: '19' });
  });

  it('postgres: a transaction older than the first walk restarts at the first row', () => {
    expect(startOf(cursor([[10, '3']], 8), snapshot(40, 40, '9'), true)).toEqual({
      from: null,
      sinceXid: '8',
    });
  });

  it('postgres: compares 64-bit transaction ids and queries the 32-bit ids of rows', () => {
    const far = 2 ** 33 + 7;
    expect(startOf(cursor([[far, '3']], far), snapshot(far + 1, far + 1, '9'), true)).toEqual({
      from: '3',
      sinceXid: '7',
    });
  });

  it('postgres: after xid wraparound, on another server and for a view, reads the whole lookback', () => {
    const last = { from: '3', sinceXid: null };
    expect(startOf(cursor([[10, '3']], 10), snapshot(2e9, 2e9, '9'), true)).toEqual(last);
    expect(startOf(cursor([[10, '3']], 10), snapshot(5, 5, '9'), true)).toEqual(last);
    expect(startOf(cursor([[10, '3']], 10), snapshot(20, 20, '9'), false)).toEqual(last);
  });
});

describe('end of a walk', () => {
  it('postgres: drops walks older than the one that matters', () => {
    const after = finishWalk(
      cursor(
        [
          [10, '3'],
          [20, '5'],
          [30, '7'],
        ],
        25,
      ),
      { ...snapshot(35, 40, '9'), at: ['9', '2'] },
    );
    expect(after).toEqual({
      ...cursor(
        [
          [30, '7'],
          [40, '9'],
        ],
        35,
      ),
      watermark: ['9', '2'],
    });
  });

  it('postgres: a walk without rows keeps the watermark', () => {
    expect(finishWalk(cursor([], null), { ...snapshot(5, 5, '9'), at: null })).toMatchObject({
      watermark: ['9', '1'],
    });
  });

  it('postgres: during a long transaction, the cursor keeps at most 16 walks including the oldest', () => {
    let current = cursor([[10, '3']], 10);
    for (let next = 20; next < 2000; next += 10)
      current = finishWalk(current, { ...snapshot(15, next, String(next)), at: null });
    expect(current.walks).toHaveLength(16);
    expect(startOf(current, snapshot(15, 3000, 'z'), true)).toEqual({ from: '3', sinceXid: '15' });
  });
});
