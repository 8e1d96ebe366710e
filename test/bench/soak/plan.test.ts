import { describe, expect, it } from 'vitest';
import { parseOptions, type SoakOptions } from '../../../bench/soak/options.ts';
import { planLoad } from '../../../bench/soak/plan.ts';
import { isRising, trendOf } from '../../../bench/soak/trend.ts';

const planFor = (args: string[], capacityPerSecond: number) =>
  planLoad(parseOptions(args) as SoakOptions, capacityPerSecond);

describe('the load of a soak', () => {
  it('comes from a longer interval where the connections would make more', () => {
    const { connections, intervalSeconds, perSecond } = planFor([], 1000);
    expect([connections, intervalSeconds]).toEqual([100_000, 114]);
    expect(perSecond).toBeLessThanOrEqual(800);
    expect(perSecond).toBeGreaterThan(790);
  });

  it('comes from more connections where one sync a minute would make less', () => {
    const { connections, intervalSeconds, perSecond } = planFor([], 3000);
    expect([connections, intervalSeconds]).toEqual([158_400, 60]);
    expect(perSecond).toBe(2400);
  });

  it('is less than was asked for where the number of connections is given', () => {
    const { connections, load } = planFor(['--connections', '6600'], 1000);
    expect([connections, load]).toEqual([6600, 0.1]);
  });

  it('reaches what is deleted again well before its end', () => {
    expect(planFor(['--minutes', '10'], 1000)).toMatchObject({ retentionMinutes: 3, warmUpMinutes: 5 });
    expect(planFor(['--hours', '8'], 1000)).toMatchObject({ retentionMinutes: 30, warmUpMinutes: 32 });
  });

  it('is refused in words where an option is wrong', () => {
    expect(() => parseOptions(['--load', '2'])).toThrow('--load: "2" is not a number from 0.01 to 1.');
    expect(() => parseOptions(['--hours', '1', '--minutes', '1'])).toThrow('give one of them');
    expect(parseOptions(['--help'])).toBeUndefined();
  });
});

describe('a trend', () => {
  const line = (value: (minute: number) => number, minutes = 60) =>
    trendOf(Array.from({ length: minutes }, (_, minute) => ({ minute, value: value(minute) })));
  const noise = (minute: number) => ((minute * 7919) % 101) / 101;

  it('is the slope by the hour, with a margin that holds the true one', () => {
    const trend = line((minute) => 10 + minute / 30 + noise(minute));
    expect(trend?.perHour).toBeGreaterThan(2 - (trend?.margin ?? 0));
    expect(trend?.perHour).toBeLessThan(2 + (trend?.margin ?? 0));
    expect(trend && isRising(trend)).toBe(true);
    expect(trend?.gained).toBeCloseTo(((trend?.perHour ?? 0) * 59) / 60);
  });

  it('is known less well the shorter it is, and not at all from three points', () => {
    const [long, short] = [line(noise, 480), line(noise, 8)];
    expect(short?.margin).toBeGreaterThan(100 * (long?.margin ?? Number.NaN));
    expect(line(noise, 3)).toBeUndefined();
  });

  it('is known less well where neighbours are alike', () => {
    // The same values, once in turns and once in two long waves.
    const inTurns = line((minute) => minute % 2);
    const inWaves = line((minute) => Number(minute % 30 < 15));
    expect(inWaves?.margin).toBeGreaterThan(2 * (inTurns?.margin ?? Number.NaN));
  });

  it('uses the quantiles of Student for few points', () => {
    const trend = line(noise, 7);
    expect((trend?.margin ?? 0) / (trend?.standardError ?? 1)).toBeCloseTo(2.571, 1);
  });
});
