import { check } from '../checker/check.ts';
import type { ChaosReport } from './run.ts';
import type { Setting } from './setting.ts';

/** As set in test/support/fixtures/chaos.config.mjs. */
const schedule = { tickIntervalSeconds: 10, defaultIntervalSeconds: 3600, jitterPctMax: 0 };

/** The checker knows processes by their sessions, and behind a pooler those belong to nobody. That a run ends under its claim is checked all the same. */
const bySessions = 'a run is settled by the process that holds its claim';

/** What is stored against what the provider has, and what the history of every row says of how it came about. */
export async function judgeEnd({
  postgres,
  bouncer,
  provider,
  connections,
  onProblem,
}: Setting): Promise<ChaosReport['stored']> {
  const { sql } = postgres;
  const truth = connections.map(({ id, account }) => ({
    connectionId: id,
    items: provider.itemsOf(account),
    keyOf: (payload: unknown) => (payload as { item: string }).item,
  }));
  const found = await check(sql, { truth, schedule, quiet: true });
  const violations = found.filter(({ invariant }) => !(bouncer && invariant === bySessions));
  for (const { invariant, detail, ...where } of violations)
    onProblem(`not so: ${invariant}. ${detail} ${JSON.stringify(where)}`);
  const [row] = await sql<{ jobs: number; signals: number }>(
    `SELECT (SELECT count(*)::int FROM syncline.sync_jobs) AS jobs, (SELECT count(*)::int FROM syncline.signals) AS signals`,
  );
  return { connections: connections.length, jobs: row?.jobs ?? 0, signals: row?.signals ?? 0 };
}
