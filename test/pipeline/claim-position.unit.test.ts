import { describe, expect, it } from 'vitest';
import { type ClaimScan, createClaimPosition } from '../../src/pipeline/claim-position.ts';
import type { Lane, ReadyRow } from '../../src/store/claims.ts';

const row = (slug: string, priority: number, at: string) =>
  ({ provider_slug: slug, priority, scheduled_at: new Date(at) }) as ReadyRow;
const fullScan = { lanes: undefined, isFull: false, tookMs: 100 };
const unused = () => Promise.reject(new Error('findLanes was called'));
const rows = [
  row('github', 5, '2025-01-01T00:00:02Z'),
  row('github', 0, '2025-01-01T00:00:01Z'),
  row('slack', 0, '2025-01-01T00:00:01.500Z'),
  row('github', 0, '2025-01-01T00:00:03Z'),
];
const lanes = [
  { slug: 'github', priority: 5, from: '2025-01-01T00:00:02.000Z' },
  { slug: 'github', priority: 0, from: '2025-01-01T00:00:01.000Z' },
  { slug: 'slack', priority: 0, from: '2025-01-01T00:00:01.500Z' },
];

describe('claim position', () => {
  it('claim position: a fast scan stores no position', async () => {
    const position = createClaimPosition();
    await position.record({ ...fullScan, rows, tookMs: 52 }, 1000, unused);
    expect(position.resumeFrom(1000)).toBeUndefined();
  });

  it('claim position: a slow full scan is not repeated for 20 times its duration', async () => {
    const position = createClaimPosition();
    await position.record({ ...fullScan, rows }, 1000, unused);
    expect(position.resumeFrom(1000)).toEqual(lanes);
    expect(position.resumeFrom(2999)).toEqual(lanes);
    expect(position.resumeFrom(3000)).toBeUndefined();
  });

  it('claim position: each claim advances the lanes of its jobs, but not the time of the full scan', async () => {
    const position = createClaimPosition();
    await position.record({ ...fullScan, rows }, 1000, unused);
    const next = [row('slack', 0, '2025-01-01T00:00:09Z')];
    await position.record({ lanes, rows: next, isFull: true, tookMs: 60 }, 2000, unused);
    const moved = { ...(lanes[2] as Lane), from: '2025-01-01T00:00:09.000Z' };
    expect(position.resumeFrom(2999)).toEqual([lanes[0], lanes[1], moved]);
    expect(position.resumeFrom(3000)).toBeUndefined();
  });

  it('claim position: a short batch triggers a full rescan', async () => {
    const position = createClaimPosition();
    await position.record({ ...fullScan, rows }, 1000, unused);
    await position.record({ lanes, rows: [], isFull: false, tookMs: 1 } satisfies ClaimScan, 1001, unused);
    expect(position.resumeFrom(1002)).toBeUndefined();
  });

  it('claim position: a time that ISO-8601 cannot express becomes -infinity', async () => {
    const position = createClaimPosition();
    await position.record(
      { ...fullScan, rows: [{ ...row('github', 0, ''), scheduled_at: new Date(-8.64e15) }] },
      1000,
      unused,
    );
    expect(position.resumeFrom(1000)).toEqual([{ slug: 'github', priority: 0, from: '-infinity' }]);
  });
});
