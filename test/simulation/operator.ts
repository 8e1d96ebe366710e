import { SynclineError } from '../../src/index.ts';
import type { Engine } from './engine.ts';
import type { Simulation } from './simulation.ts';
import type { Account } from './world.ts';

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
/** What a run under way must be told of, or must not be disturbed by. */
const meddling: readonly Action[] = ['rewind', 'rewind', 'cancel a job', 'cancel a job', 'pause', 'trigger'];

/** Does something to a connection, as people do: through the public interface, at any moment. */
export async function act(simulation: Simulation, operator: Engine): Promise<void> {
  const { random, world } = simulation;
  const running = world.accounts.filter((one) => isRunning(simulation, one));
  const stalled = running.filter((one) => isRunning(simulation, one, stallMs));
  const busy = stalled.length > 0 ? stalled : running;
  const account = random.pick(busy.length > 0 && random.chance(0.75) ? busy : world.accounts);
  const action = random.pick(stalled.includes(account) && random.chance(0.5) ? meddling : actions);
  // What has no key is stored again when it is shown again: nobody may ask for that.
  if (account.kind === 'plain' && (action === 'full' || action === 'rewind')) return;
  simulation.trace.step(`operator: ${action} ${account.name}`);
  simulation.acting++;
  void perform(simulation, operator, action, account)
    .then(
      () => simulation.trace.remark(`operator: ${action} ${account.name} done`),
      (error: unknown) => refused(simulation, `${action} ${account.name}`, error),
    )
    .finally(() => simulation.acting--);
  await simulation.stage.settle();
}

const isRunning = ({ engines, stage }: Simulation, { name }: Account, forMs?: number) =>
  engines.some((engine) => stage.isCalling(engine, `fetches a page of ${name}`, forMs));

/** Long enough that what somebody does meets the run. */
const stallMs = 1000;
/** People become impatient: how much more likely it is that they do something. */
export const impatience = (simulation: Simulation) =>
  simulation.world.accounts.some((one) => isRunning(simulation, one, stallMs)) ? 4 : 1;

async function perform(
  simulation: Simulation,
  { syncline }: Engine,
  action: Action,
  account: Account,
): Promise<void> {
  const { random, watcher } = simulation;
  const { connectionId: id } = account;
  switch (action) {
    case 'trigger':
      return void (await syncline.connections.trigger(id));
    case 'full':
      return void (await syncline.connections.trigger(id, { type: 'full' }));
    case 'pause':
      await syncline.connections.pause(id);
      if (isRunning(simulation, account)) watcher.note('a connection was paused while its job ran');
      return;
    case 'resume':
      return syncline.connections.resume(id);
    case 'cancel':
      return void (await syncline.connections.cancel(id));
    case 'rewind': {
      const { items } = await syncline.jobs.list({ connectionId: id, limit: 10 });
      const stored = items.filter(({ nextCursor }) => nextCursor !== undefined);
      // Never ahead of what was stored: what lies between would be missing, and rightly so.
      const to =
        stored.length > 0 && random.chance(0.6) ? { jobId: random.pick(stored).id } : { cursor: null };
      await syncline.connections.rewind(id, to);
      if (isRunning(simulation, account)) watcher.note('a run under way was sent back by a rewind');
      return;
    }
    case 'retry a job':
    case 'cancel a job': {
      const { items } = await syncline.jobs.list({ connectionId: id, limit: 5 });
      if (items.length === 0) return;
      // What runs is looked after by somebody, who must be told.
      const running = items.find(({ status }) => status === 'running');
      const job = running && action === 'cancel a job' ? running : random.pick(items);
      // One that begins from nothing would show everything again.
      if (account.kind === 'plain' && job.type !== 'incremental') return;
      await (action === 'retry a job' ? syncline.jobs.retry(job.id) : syncline.jobs.cancel(job.id));
    }
  }
}

/** Makes every connection active again, once nothing else is being done to any. */
export async function resumeAll(simulation: Simulation, { syncline }: Engine): Promise<void> {
  const { database, acting, violations } = simulation;
  if (acting > 0) return;
  const idle = await database.overseer.sql<{ id: string }>(
    `SELECT id FROM connections WHERE status <> 'active' ORDER BY id`,
  );
  if (idle.length === 0) return;
  simulation.acting++;
  void Promise.all(idle.map(({ id }) => syncline.connections.resume(id)))
    .catch((error: unknown) => {
      // It waited beside another, and was sent away: this is asked again until it is done.
      if (error instanceof SynclineError && error.code === 'DATABASE_REFUSED') return;
      violations.push({ invariant: 'a connection can be resumed', detail: String(error) });
    })
    .finally(() => simulation.acting--);
  await simulation.stage.settle();
}

/** What a caller may get: a refusal with a code, or a database that does not answer. */
function refused(simulation: Simulation, what: string, error: unknown): void {
  simulation.trace.remark(`operator: ${what} refused: ${error}`);
  if (error instanceof SynclineError) return;
  const { code } = error as { code?: string };
  // Lost races and locks waited for in vain are handed on as Postgres words them.
  if (/^(40001|40P01|55P03|57014|57P01|ECONNRESET)$/.test(code ?? '')) return;
  if (
    error instanceof Error &&
    /^(Connection terminated|Client has encountered|simulated)/.test(error.message)
  )
    return;
  const detail = `who wanted to ${what} got ${String(error)}`;
  simulation.violations.push({ invariant: 'nobody is told what makes no sense', detail });
}
