import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Fleet } from '../tools/fleet.ts';
import type { Answer, Order, WorkerOptions } from './worker.ts';

/** Processes that run jobs. They stay for the whole benchmark, so that what is measured has been compiled before. */
export interface Workers {
  readonly options: WorkerOptions;
  /** Has the first `count` of them do something at once, and waits for all of their answers. */
  tell(action: Order['action'], fleet: Fleet, count: number): Promise<Answer[]>;
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('worker.ts', import.meta.url));
const jiti = fileURLToPath(new URL('lib/jiti-cli.mjs', import.meta.resolve('jiti/package.json')));

export function startWorkers(count: number, options: WorkerOptions): Workers {
  const children = Array.from({ length: count }, () =>
    // Standard output is for the report alone.
    fork(jiti, [script, JSON.stringify(options)], { stdio: ['ignore', 2, 2, 'ipc'] }),
  );
  return {
    options,
    tell: (action, { engine }, first) => {
      const order = { action, schema: engine.config.database.schema };
      return Promise.all(children.slice(0, first).map((child) => tell(child, order)));
    },
    stop: async () => {
      await Promise.all(children.map(end));
    },
  };
}

function tell(child: ChildProcess, order: Order): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`A worker ended when it was told to ${order.action}.`));
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer as Answer);
    });
    child.send(order);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.disconnect();
  await exited;
}
