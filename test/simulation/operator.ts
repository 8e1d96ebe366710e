import { SynclineError } from '../../src/index.ts';
import type { Engine } from './engine.ts';
import type { Account } from './fake-provider.ts';
import type { Simulation } from './simulation.ts';

const actions = [
  'trigger',
  'trigger',
  'full',
  'pause',
  'pause',
  'resume',
  'resume',
  'cancel',
  'rewind',
  'rewind',
  'retry a job',
  'cancel a job',
  'cancel a job',
] as const;
type Action = (typeof actions)[number];
/** Actions that affect a run in progress, or must not. */
const disruptiveActions: readonly Action[] = [
  'rewind',
  'rewind',
  'cancel a job',
  'cancel a job',
  'pause',
  'trigger',
];

export async function runOperatorAction(simulation: Simulation, operator: Engine): Promise<void> {
  const { random, fakeProvider } = simulation;
  const running = fakeProvider.accounts.filter((candidate) => isRunning(simulation, candidate));
  const stalled = running.filter((candidate) => isRunning(simulation, candidate, stallMs));
  const busy = stalled.length > 0 ? stalled : running;
  const account = random.pick(busy.length > 0 && random.chance(0.75) ? busy : fakeProvider.accounts);
  const action = random.pick(stalled.includes(account) && random.chance(0.5) ? disruptiveActions : actions);
  // Items without a dedupe key would be stored again.
  if (account.kind === 'plain' && (action === 'full' || action === 'rewind')) return;
  await perform(simulation, `${action} ${account.name}`, () =>
    performAction(simulation, operator, action, account),
  );
}

/** Continues in later steps. */
export async function perform(
  simulation: Simulation,
  action: string,
  work: () => Promise<unknown>,
): Promise<void> {
  simulation.trace.step(`operator: ${action}`);
  simulation.operatorActions++;
  void work()
    .then(
      () => simulation.trace.remark(`operator: ${action} done`),
      (error: unknown) => onError(simulation, action, error),
    )
    .finally(() => simulation.operatorActions--);
  await simulation.stepScheduler.settle();
}

const isRunning = ({ engines, stepScheduler }: Simulation, { name }: Account, minMs?: number) =>
  engines.some((engine) => stepScheduler.isCalling(engine, `fetches a page of ${name}`, minMs));

/** A call that lasts at least this long can be affected by an action. */
const stallMs = 1000;
export const operatorFactor = (simulation: Simulation) =>
  simulation.fakeProvider.accounts.some((account) => isRunning(simulation, account, stallMs)) ? 4 : 1;

async function performAction(
  simulation: Simulation,
  { syncline }: Engine,
  action: Action,
  account: Account,
): Promise<void> {
  const { random, recorder } = simulation;
  const { connectionId: id } = account;
  switch (action) {
    case 'trigger':
      return void (await syncline.connections.trigger(id));
    case 'full':
      return void (await syncline.connections.trigger(id, { type: 'full' }));
    case 'pause':
      await syncline.connections.pause(id);
      if (isRunning(simulation, account)) recorder.note('a connection was paused during a run');
      return;
    case 'resume':
      return void (await syncline.connections.resume(id));
    case 'cancel':
      return void (await syncline.connections.cancel(id));
    case 'rewind': {
      const { items } = await syncline.jobs.list({ connectionId: id, limit: 10 });
      const stored = items.filter(({ nextCursor }) => nextCursor !== undefined);
      // Never ahead of the stored position: the items between would be skipped.
      const to =
        stored.length > 0 && random.chance(0.6) ? { jobId: random.pick(stored).id } : { cursor: null };
      await syncline.connections.rewind(id, to);
      if (isRunning(simulation, account)) recorder.note('a rewind restarted a run in progress');
      return;
    }
    case 'retry a job':
    case 'cancel a job': {
      const { items } = await syncline.jobs.list({ connectionId: id, limit: 5 });
      if (items.length === 0) return;
      // Prefer a running job: its executor must notice the cancellation.
      const running = items.find(({ status }) => status === 'running');
      const job = running && action === 'cancel a job' ? running : random.pick(items);
      // A full job would return all items again, without dedupe keys.
      if (account.kind === 'plain' && job.type !== 'incremental') return;
      await (action === 'retry a job' ? syncline.jobs.retry(job.id) : syncline.jobs.cancel(job.id));
    }
  }
}

export async function resumeAll(simulation: Simulation, { syncline }: Engine): Promise<void> {
  const { database, operatorActions, violations } = simulation;
  if (operatorActions > 0) return;
  const idle = await database.observer.sql<{ id: string }>(
    `SELECT id FROM connections WHERE status <> 'active' ORDER BY id`,
  );
  if (idle.length === 0) return;
  simulation.operatorActions++;
  void Promise.all(idle.map(({ id }) => syncline.connections.resume(id)))
    .catch((error: unknown) => {
      // Cancelled as the second lock waiter; the next call retries.
      if (error instanceof SynclineError && error.code === 'DATABASE_REFUSED') return;
      violations.push({ invariant: 'a connection can be resumed', detail: String(error) });
    })
    .finally(() => simulation.operatorActions--);
  await simulation.stepScheduler.settle();
}

/** Allowed: SynclineError, retryable Postgres errors, lost connections. */
function onError(simulation: Simulation, action: string, error: unknown): void {
  simulation.trace.remark(`operator: ${action} failed: ${error}`);
  if (error instanceof SynclineError) return;
  const { code } = error as { code?: string };
  // Serialization failures, deadlocks and timeouts keep their SQLSTATE.
  if (/^(40001|40P01|55P03|57014|57P01|ECONNRESET)$/.test(code ?? '')) return;
  if (
    error instanceof Error &&
    /^(Connection terminated|Client has encountered|simulated)/.test(error.message)
  )
    return;
  const detail = `${action} failed with ${String(error)}`;
  simulation.violations.push({ invariant: 'callers get only documented errors', detail });
}
