import { beforeAll, describe, expect, it } from 'vitest';
import { seed } from '../support/seed.ts';
import { reportText } from './report.ts';
import { type ChaosReport, runChaos } from './run.ts';

/** A minute of it; `npm run chaos` goes on for as long as one likes. */
describe('a fleet in a minute in which everything fails that can', () => {
  let report: ChaosReport;
  const said: string[] = [];
  beforeAll(async () => {
    const beganMs = performance.now();
    report = await runChaos({
      seconds: 60,
      seed,
      connections: 150,
      maxPauseMs: 600,
      // Other tests want the same cores.
      patience: 6,
      say: (line) => void said.push(`${Math.round((performance.now() - beganMs) / 1000)} s  ${line}`),
    });
    process.stdout.write(`${[...said, reportText(report)].join('\n')}\n`);
  }, 300_000);

  it('every kind of fault happened, unless this machine does not allow it', () => {
    const never = report.kinds.filter(({ count, impossible }) => count === 0 && impossible === undefined);
    expect(never).toEqual([]);
    expect(report.kinds.length).toBeGreaterThanOrEqual(20);
  });

  it('EXE-5: afterwards nothing is missing, nothing doubled, no rule was broken on the way, and every process lives', () => {
    expect(report.problems, `seed ${report.seed}`).toEqual([]);
    expect(report.stored.signals).toBeGreaterThan(150 * 15);
  });
});
