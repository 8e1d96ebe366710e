import { describe, expect, it } from 'vitest';
import {
  claimingId,
  hasPendingReturns,
  type LeaseEvent,
  type LeaseState,
  noLease,
  reduceLease,
} from '../../src/runtime/lease-state.ts';

const reach = (events: LeaseEvent[], from: LeaseState = noLease) => events.reduce(reduceLease, from);
const registered: LeaseEvent = { type: 'registered', id: 'a', heldUntilMonotonicMs: 30 };
const renewed: LeaseEvent = { type: 'renewed', id: 'a', heldUntilMonotonicMs: 40, expired: [] };
const held = reach([registered, renewed]);

describe('lease state', () => {
  it('EXE-9: claims need a lease that a heartbeat has confirmed and that has not expired', () => {
    expect(claimingId(noLease, 0)).toBeUndefined();
    expect(claimingId(reach([registered]), 0)).toBeUndefined();
    expect(claimingId(held, 39)).toBe('a');
    expect(claimingId(held, 40)).toBeUndefined();
    expect(claimingId(reach([{ type: 'heartbeatFailed' }], held), 0)).toBeUndefined();
    expect(claimingId(reach([{ type: 'heartbeatFailed' }, renewed], held), 0)).toBe('a');
  });

  it('EXE-9: a lost lease is released, then forgiven, and never renewed', () => {
    const lost = reach([{ type: 'lost' }], held);
    expect(lost).toMatchObject({ current: undefined, previousId: 'a', survived: [] });
    expect(reach([renewed], lost)).toBe(lost);
    const released = reach([{ type: 'released', id: 'a' }], lost);
    expect(released).toMatchObject({ previousId: undefined, survived: ['a'] });
    expect(reach([{ type: 'forgiven', id: 'a' }], released)).toEqual(noLease);
  });

  it('EXE-9: a late answer to the heartbeat of a lost lease does not confirm the next one', () => {
    const next = reach([{ type: 'lost' }, { type: 'registered', id: 'b', heldUntilMonotonicMs: 90 }], held);
    expect(reach([renewed], next)).toBe(next);
    expect(claimingId(next, 0)).toBeUndefined();
  });

  it('EXE-9: a failed heartbeat without a lease changes nothing', () => {
    expect(reach([{ type: 'heartbeatFailed' }])).toBe(noLease);
  });

  it('EXE-9: dead processes found during a reap stay pending', () => {
    const found = ['x'];
    const first = reach([{ ...renewed, expired: found }], held);
    expect(hasPendingReturns(first)).toBe(true);
    expect(hasPendingReturns(reach([{ type: 'reaped', expired: found }], first))).toBe(false);
    const second = reach([{ ...renewed, expired: ['x', 'y'] }], first);
    expect(reach([{ type: 'reaped', expired: found }], second).expired).toEqual(['x', 'y']);
  });

  it('EXE-9: an uncertain claim is pending until checked, and checked again for a minute', () => {
    const uncertain = reach([{ type: 'claimUncertain', claimId: 'c', monotonicMs: 1000 }], held);
    expect(hasPendingReturns(uncertain)).toBe(true);
    const check = (monotonicMs: number, processId = 'a'): LeaseEvent => ({
      type: 'claimChecked',
      processId,
      claimId: 'c',
      monotonicMs,
    });
    const checked = reach([check(2000)], uncertain);
    expect(hasPendingReturns(checked)).toBe(false);
    expect(checked.current?.uncertain.has('c')).toBe(true);
    expect(reach([check(61_001)], checked).current?.uncertain.size).toBe(0);
    expect(reach([check(2000, 'b')], uncertain)).toBe(uncertain);
  });

  it('EXE-9: an uncertain claim without a lease is left to the reaper', () => {
    expect(reach([{ type: 'claimUncertain', claimId: 'c', monotonicMs: 0 }])).toBe(noLease);
  });
});
