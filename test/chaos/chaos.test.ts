import { beforeAll, describe, expect, it } from 'vitest';
import { seed } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import { reportText } from './report.ts';
import { type ChaosReport, runChaos } from './run.ts';

const connections = sized(150, 30);

const print = (text: string) => process.stdout.write(`${text}\n`);

/** A minute at full size; `npm run chaos` runs for any duration. */
describe('chaos: a fleet under all faults', () => {
  let report: ChaosReport;
  beforeAll(
    async () => {
      const startMs = performance.now();
      report = await runChaos({
        seconds: sized(60, 5),
        seed,
        connections,
        executors: sized(4, 3),
        maxPauseMs: sized(600, 250),
        // Other tests use the same cores.
        limitFactor: 6,
        // At once: after a timeout, the last line names the fault.
        log: (line) => print(`chaos, ${Math.round((performance.now() - startMs) / 1000)} s: ${line}`),
      });
      print(reportText(report));
      // On a busy machine the faults and the recoveries take several times as long.
    },
    sized(900_000, 300_000),
  );

  it('chaos: every kind of fault took effect, unless this machine cannot inject it', () => {
    const missing = report.kinds.filter(({ count, skipReason }) => count === 0 && skipReason === undefined);
    expect(missing).toEqual([]);
    expect(report.kinds.length).toBeGreaterThanOrEqual(20);
  });

  it('EXE-5: no signal is missing or duplicated, no invariant was violated, and no process exited', () => {
    expect(report.problems, `seed ${report.seed}`).toEqual([]);
    expect(report.stored.signals).toBeGreaterThan(connections * sized(15, 4));
  });
});
