import { check } from '../checker/check.ts';
import type { ChaosEnvironment } from './environment.ts';
import type { ChaosReport } from './run.ts';

/** As set in test/support/fixtures/chaos.config.mjs. */
const schedule = { tickIntervalSeconds: 10, defaultIntervalSeconds: 3600, jitterPctMax: 0 };

/** Does not hold behind a pooler, which shares sessions between processes. */
const sessionInvariant = 'the process that holds the claim stores the result of the run';

/** Compares stored items with the provider's, and checks the history. */
export async function judgeEnd({
  postgres,
  bouncer,
  provider,
  connections,
  onProblem,
}: ChaosEnvironment): Promise<ChaosReport['stored']> {
  const { sql } = postgres;
  const truth = connections.map(({ id, account }) => ({
    connectionId: id,
    items: provider.itemsOf(account),
    keyOf: (payload: unknown) => (payload as { item: string }).item,
  }));
  const found = await check(sql, { truth, schedule, quiet: true });
  const violations = found.filter(({ invariant }) => !(bouncer && invariant === sessionInvariant));
  for (const { invariant, detail, ...where } of violations)
    onProblem(`violated: ${invariant}. ${detail} ${JSON.stringify(where)}`);
  const [row] = await sql<{ jobs: number; signals: number }>(
    `SELECT (SELECT count(*)::int FROM syncline.sync_jobs) AS jobs, (SELECT count(*)::int FROM syncline.signals) AS signals`,
  );
  return { connections: connections.length, jobs: row?.jobs ?? 0, signals: row?.signals ?? 0 };
}
