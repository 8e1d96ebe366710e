/** What the parent may have a contender's process do. Only `add` and `run` are measured. */
export type Order =
  | { action: 'prepare'; url: string; variant: string; jobs: number }
  | { action: 'open'; url: string; variant: string }
  | { action: 'add'; jobs: number }
  | { action: 'run' }
  | { action: 'close' };

/** `done` comes at any time; the other one answers an order. */
export type Message = { done: number } | { answered: true; error?: string };

export interface Contender {
  /** In one process, on an empty database: makes the tables, and whatever must be there before jobs are added. */
  prepare(url: string, jobs: number, variant: string): Promise<void>;
  /** Connects, and prepares whatever needs no jobs to be there. */
  open(url: string, variant: string): Promise<void>;
  /** Has so many jobs wait for workers. */
  add(jobs: number): Promise<void>;
  /** Begins to work, and returns at once. Calls `report` with what has been done. */
  run(report: (jobs: number) => void): Promise<void>;
  /** Ends what `run` began and what `open` opened. */
  close(): Promise<void>;
}

/** How long reports are gathered: a message for each job would be measured too. */
const reportEveryMs = 5;

export function obey(contender: Contender): void {
  let unreported = 0;
  let isGathering = false;
  const report = (jobs: number) => {
    unreported += jobs;
    if (isGathering) return;
    isGathering = true;
    setTimeout(() => {
      send({ done: unreported });
      unreported = 0;
      isGathering = false;
    }, reportEveryMs);
  };
  const follow = (order: Order): Promise<void> => {
    if (order.action === 'prepare') return contender.prepare(order.url, order.jobs, order.variant);
    if (order.action === 'open') return contender.open(order.url, order.variant);
    if (order.action === 'add') return contender.add(order.jobs);
    if (order.action === 'run') return contender.run(report);
    return contender.close();
  };
  process.on('message', async (order: Order) => {
    try {
      await follow(order);
      send({ answered: true });
    } catch (error) {
      send({
        answered: true,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  });
  process.once('disconnect', () => process.exit());
}

function send(message: Message): void {
  process.send?.(message);
}
