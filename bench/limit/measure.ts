import { synclineEntrant } from '../real-job/syncline-fleet.ts';
import type { Bench } from '../tools/bench.ts';
import { type Contest, type ContestScale, type Entrant, holdContest } from '../tools/contest.ts';

export const limitName = 'SQL alone';

/** What Postgres could do at most: the same rows, written by set-based statements without anybody outside of it. */
export function measureLimit(bench: Bench, scale: ContestScale): Promise<Contest> {
  return holdContest(bench, 'limit', [limitEntrant, synclineEntrant], scale);
}

const limitEntrant: Entrant = {
  ...synclineEntrant,
  name: limitName,
  script: new URL('contenders/sql.ts', import.meta.url),
  variants: [
    {
      name: 'procedures',
      about:
        'placed, claimed and finished by one statement each in procedures, 1,000 in a batch; two connections place, one for each process works; no connector is called',
    },
  ],
};
