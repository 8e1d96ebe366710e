import { describe, expect, it } from 'vitest';
import { ended, startOf, type TableCursor } from '../../../src/connectors/postgres/walk.ts';

const cursor = (walks: [next: number, highest: string][], xmin: number | null): TableCursor => ({
  of: 'a table',
  watermark: ['9', '1'],
  walks: walks.map(([next, highest]) => ({ next: String(next), highest })),
  xmin: xmin === null ? null : String(xmin),
});
const standing = (xmin: number, next: number, highest: string) => ({
  xmin: String(xmin),
  next: String(next),
  highest,
});

describe('where a walk begins', () => {
  it('postgres: the first one begins with the first row', () => {
    expect(startOf(cursor([], null), standing(5, 5, '9'), true)).toEqual({ from: null, sinceXid: null });
  });

  it('postgres: without open transactions it begins where the last one did', () => {
    expect(
      startOf(
        cursor(
          [
            [10, '3'],
            [20, '5'],
          ],
          20,
        ),
        standing(30, 30, '9'),
        true,
      ),
    ).toEqual({ from: '5', sinceXid: '20' });
  });

  it('postgres: it goes back to a time at which those that were open had not begun to write', () => {
    const walks: [number, string][] = [
      [10, '3'],
      [20, '5'],
      [30, '7'],
    ];
    expect(startOf(cursor(walks, 25), standing(40, 40, '9'), true)).toEqual({ from: '5', sinceXid: '25' });
    expect(startOf(cursor(walks, 19), standing(40, 40, '9'), true)).toEqual({ from: '3', sinceXid: '19' });
  });

  it('postgres: what was open before the first walk may have written anywhere', () => {
    expect(startOf(cursor([[10, '3']], 8), standing(40, 40, '9'), true)).toEqual({
      from: null,
      sinceXid: '8',
    });
  });

  it('postgres: ids of 64 bits are compared, and those of 32 that rows carry are asked for', () => {
    const far = 2 ** 33 + 7;
    expect(startOf(cursor([[far, '3']], far), standing(far + 1, far + 1, '9'), true)).toEqual({
      from: '3',
      sinceXid: '7',
    });
  });

  it('postgres: after too many transactions, on another server and in a view everything within the lookback counts', () => {
    const last = { from: '3', sinceXid: null };
    expect(startOf(cursor([[10, '3']], 10), standing(2e9, 2e9, '9'), true)).toEqual(last);
    expect(startOf(cursor([[10, '3']], 10), standing(5, 5, '9'), true)).toEqual(last);
    expect(startOf(cursor([[10, '3']], 10), standing(20, 20, '9'), false)).toEqual(last);
  });
});

describe('what is left of a walk', () => {
  it('postgres: walks before the one that decides are forgotten', () => {
    const after = ended(
      cursor(
        [
          [10, '3'],
          [20, '5'],
          [30, '7'],
        ],
        25,
      ),
      { ...standing(35, 40, '9'), at: ['9', '2'] },
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

  it('postgres: a walk that met no row leaves the watermark', () => {
    expect(ended(cursor([], null), { ...standing(5, 5, '9'), at: null })).toMatchObject({
      watermark: ['9', '1'],
    });
  });

  it('postgres: however long a transaction lasts, a cursor stays small and keeps what decides', () => {
    let at = cursor([[10, '3']], 10);
    for (let next = 20; next < 2000; next += 10)
      at = ended(at, { ...standing(15, next, String(next)), at: null });
    expect(at.walks).toHaveLength(16);
    expect(startOf(at, standing(15, 3000, 'z'), true)).toEqual({ from: '3', sinceXid: '15' });
  });
});
