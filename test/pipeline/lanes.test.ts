import { describe, expect, it } from 'vitest';
import { createLanes, type Look } from '../../src/pipeline/claim-position.ts';
import type { Lane, ReadyRow } from '../../src/store/claims.ts';

const row = (slug: string, priority: number, at: string) =>
  ({ provider_slug: slug, priority, scheduled_at: new Date(at) }) as ReadyRow;
const everywhere = { lanes: undefined, isFull: true, tookMs: 100 };
const rows = [
  row('github', 5, '2025-01-01T00:00:02Z'),
  row('github', 0, '2025-01-01T00:00:01Z'),
  row('slack', 0, '2025-01-01T00:00:01.500Z'),
  row('github', 0, '2025-01-01T00:00:03Z'),
];
const places = [
  { slug: 'github', priority: 5, from: '2025-01-01T00:00:02.000Z' },
  { slug: 'github', priority: 0, from: '2025-01-01T00:00:01.000Z' },
  { slug: 'slack', priority: 0, from: '2025-01-01T00:00:01.500Z' },
];

describe('lanes: where claims look', () => {
  it('lanes: a look that took no longer than what it found remembers nothing', () => {
    const lanes = createLanes();
    lanes.learn({ ...everywhere, rows, tookMs: 52 }, 1000);
    expect(lanes.known(1000)).toBeUndefined();
  });

  it('lanes: a slow one is not repeated for twenty times as long', () => {
    const lanes = createLanes();
    lanes.learn({ ...everywhere, rows }, 1000);
    expect(lanes.known(1000)).toEqual(places);
    expect(lanes.known(2999)).toEqual(places);
    expect(lanes.known(3000)).toBeUndefined();
  });

  it('lanes: each claim moves the places on where it found something, and leaves the time', () => {
    const lanes = createLanes();
    lanes.learn({ ...everywhere, rows }, 1000);
    const next = [row('slack', 0, '2025-01-01T00:00:09Z')];
    lanes.learn({ lanes: places, rows: next, isFull: true, tookMs: 60 }, 2000);
    const moved = { ...(places[2] as Lane), from: '2025-01-01T00:00:09.000Z' };
    expect(lanes.known(2999)).toEqual([places[0], places[1], moved]);
    expect(lanes.known(3000)).toBeUndefined();
  });

  it('lanes: as soon as there is less than was asked for, everything is looked at again', () => {
    const lanes = createLanes();
    lanes.learn({ ...everywhere, rows }, 1000);
    lanes.learn({ lanes: places, rows: [], isFull: false, tookMs: 1 } satisfies Look, 1001);
    expect(lanes.known(1002)).toBeUndefined();
  });

  it('lanes: a time that cannot be written stands for the beginning', () => {
    const lanes = createLanes();
    lanes.learn(
      { ...everywhere, rows: [{ ...row('github', 0, ''), scheduled_at: new Date(-8.64e15) }] },
      1000,
    );
    expect(lanes.known(1000)).toEqual([{ slug: 'github', priority: 0, from: '-infinity' }]);
  });
});
