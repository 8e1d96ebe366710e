import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fixed, median, table, whole } from '../tools/report.ts';

export interface Memory {
  /** Resident memory of this process, over time, in MB. */
  resident: number[];
  /** What is still in use after garbage was collected, before and after, in MB. */
  kept: [before: number, after: number];
}

export async function watchMemory(work: () => Promise<void>): Promise<Memory> {
  const resident: number[] = [];
  const sample = () => resident.push(process.memoryUsage.rss() / 2 ** 20);
  const before = keptMb();
  sample();
  const timer = setInterval(sample, 50);
  await work().finally(() => clearInterval(timer));
  sample();
  return { resident, kept: [before, keptMb()] };
}

function keptMb(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** By the second quarter everything that is made once has been made: from then on, memory must not grow. */
export function memoryTable({ resident, kept }: Memory): string {
  const quarters = [0, 1, 2, 3].map((index) =>
    median(resident.slice((resident.length * index) / 4, (resident.length * (index + 1)) / 4)),
  );
  const [, second = 0, , last = 0] = quarters;
  return table(
    [
      '',
      'start',
      'quarter 1',
      'quarter 2',
      'quarter 3',
      'quarter 4',
      'max',
      'growth, 2 to 4',
      'kept before',
      'after',
    ],
    [
      [
        'MB',
        ...[resident[0] ?? 0, ...quarters, Math.max(...resident)].map(whole),
        `${fixed(1)((last / second - 1) * 100)} %`,
        ...kept.map(fixed(1)),
      ],
    ],
  );
}
