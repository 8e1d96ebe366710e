import { describe, expect, it } from 'vitest';
import { parseOptions, planLoad, type SoakOptions } from '../../../bench/soak/plan.ts';
import { isRising, trendOf } from '../../../bench/soak/trend.ts';

const planFor = (args: string[], capacityPerSecond: number) =>
  planLoad(parseOptions(args) as SoakOptions, capacityPerSecond);

describe('soak plan', () => {
  it('soak plan: takes as many connections as 80 % of the capacity need', () => {
    const { connections, perSecond, load } = planFor([], 1000);
    expect([connections, perSecond, load]).toEqual([52_800, 800, 0.8]);
  });

  it('soak plan: keeps a given number of connections and lowers the load', () => {
    const { connections, load } = planFor(['--connections', '6600'], 1000);
    expect([connections, load]).toEqual([6600, 0.1]);
  });

  it('soak plan: ends the warm-up before half of the run', () => {
    expect(planFor(['--minutes', '10'], 1000)).toMatchObject({ retentionMinutes: 3, warmUpMinutes: 5 });
    expect(planFor(['--hours', '8'], 1000)).toMatchObject({ retentionMinutes: 30, warmUpMinutes: 32 });
  });

  it('soak plan: rejects invalid options', () => {
    expect(() => parseOptions(['--minutes', '1'])).toThrow('--minutes: "1" is not a number from 2 to 10080.');
    expect(() => parseOptions(['--hours', '1', '--minutes', '1'])).toThrow(
      'Use either --hours or --minutes.',
    );
    expect(parseOptions(['--help'])).toBe('help');
  });
});

describe('trend', () => {
  const line = (value: (minute: number) => number, minutes = 60) =>
    trendOf(Array.from({ length: minutes }, (_, minute) => ({ minute, value: value(minute) })));
  const noise = (minute: number) => ((minute * 7919) % 101) / 101;

  it('trend: has a confidence interval that contains the true slope', () => {
    const trend = line((minute) => 10 + minute / 30 + noise(minute));
    expect(trend?.perHour).toBeGreaterThan(2 - (trend?.margin ?? 0));
    expect(trend?.perHour).toBeLessThan(2 + (trend?.margin ?? 0));
    expect(trend && isRising(trend)).toBe(true);
    expect(trend?.gained).toBeCloseTo(((trend?.perHour ?? 0) * 59) / 60);
  });

  it('trend: has a wider interval for fewer points and needs at least four', () => {
    const [long, short] = [line(noise, 480), line(noise, 8)];
    expect(short?.margin).toBeGreaterThan(100 * (long?.margin ?? Number.NaN));
    expect(line(noise, 3)).toBeUndefined();
  });

  it('trend: has a wider interval if consecutive values are correlated', () => {
    // The same values in two orders.
    const alternating = line((minute) => minute % 2);
    const inBlocks = line((minute) => Number(minute % 30 < 15));
    expect(inBlocks?.margin).toBeGreaterThan(2 * (alternating?.margin ?? Number.NaN));
  });

  it('trend: uses Student quantiles', () => {
    const trend = line(noise, 7);
    expect((trend?.margin ?? 0) / (trend?.standardError ?? 1)).toBeCloseTo(2.571, 1);
  });
});
