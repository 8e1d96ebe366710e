import { describe, expect, it } from 'vitest';
import { afterLoss, isSuspect, type Loss, readLosses } from '../../src/schedule/losses.ts';

const loss = (pid: number): Loss => ({ at: '2025-01-01T12:00:00.000Z', process: `p${pid}`, host: 'a', pid });

describe('EXE-9: consecutive deaths', () => {
  it('EXE-9: requeues after one death, suspects after two, fails after five', () => {
    const fates: string[] = [];
    let losses: Loss[] = [];
    for (let pid = 1; pid <= 5; pid++) {
      const next = afterLoss(losses, loss(pid));
      fates.push(next.fate);
      losses = next.losses;
    }
    expect(fates).toEqual(['requeued', 'suspect', 'suspect', 'suspect', 'failed']);
    expect(losses.map(({ pid }) => pid)).toEqual([1, 2, 3, 4, 5]);
  });

  it('EXE-9: keeps the last five deaths, so the next job fails after one more', () => {
    const five = [1, 2, 3, 4, 5].map(loss);
    const { losses, fate } = afterLoss(five, loss(6));
    expect(fate).toBe('failed');
    expect(losses.map(({ pid }) => pid)).toEqual([2, 3, 4, 5, 6]);
  });

  it('DB-3: invalid values in the column count as absent', () => {
    for (const stored of [null, undefined, 42, 'x', {}, [], [null, 3, 'x', {}, { at: 1 }]]) {
      expect(readLosses(stored)).toEqual([]);
      expect(isSuspect(stored)).toBe(false);
      expect(afterLoss(stored, loss(1))).toEqual({ losses: [loss(1)], fate: 'requeued' });
    }
  });
});
