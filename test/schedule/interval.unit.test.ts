import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { baseInterval } from '../../src/schedule/interval.ts';

const bounds = { defaultIntervalSeconds: 900, maxOverriddenIntervalSeconds: 86_400 };

describe('SCH-3: the interval', () => {
  it('SCH-3: metadata overrides the default', () => {
    expect(baseInterval(300, bounds)).toBe(300);
  });

  it('SCH-3: without an override the default applies', () => {
    expect(baseInterval(undefined, bounds)).toBe(900);
  });

  it('SCH-3: an override above the configured maximum is ignored', () => {
    expect(baseInterval(7200, { ...bounds, maxOverriddenIntervalSeconds: 3600 })).toBe(900);
  });

  it.each([60, 86_400])('SCH-3: the bound %i itself is allowed', (seconds) => {
    expect(baseInterval(seconds, bounds)).toBe(seconds);
  });

  it.each([59, 86_401, 0, -900, 90.5, Number.NaN, Number.POSITIVE_INFINITY, '300', null, {}, [], true])(
    'SCH-3: the override %j is ignored',
    (override) => {
      expect(baseInterval(override, bounds)).toBe(900);
    },
  );

  it('SCH-3: for any override, the interval is an integer within bounds', () => {
    fc.assert(
      fc.property(fc.anything(), fc.integer({ min: 900, max: 604_800 }), (override, max) => {
        const seconds = baseInterval(override, { ...bounds, maxOverriddenIntervalSeconds: max });
        expect(Number.isInteger(seconds) && seconds >= 60 && seconds <= max).toBe(true);
      }),
    );
  });
});
