import { describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/platform/ports.ts';

describe('ids', () => {
  it('ids: they are UUIDv7, strictly increasing, and unique beyond 4,096 in a millisecond', () => {
    const nowMs = Date.now() + 1000;
    const ids = Array.from({ length: 10_000 }, () => systemPorts.newId(nowMs));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids)
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(Number.parseInt((ids[0] as string).replaceAll('-', '').slice(0, 12), 16)).toBe(nowMs);
  });

  it('ids: random digits are not repeated, and all variants occur', () => {
    const random = Array.from({ length: 2000 }, () => systemPorts.newId().slice(19));
    expect(new Set(random).size).toBe(random.length);
    expect(new Set(random.map((digits) => digits.charAt(0)))).toEqual(new Set(['8', '9', 'a', 'b']));
  });
});
