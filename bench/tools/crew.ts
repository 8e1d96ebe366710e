import { type ChildProcess, fork } from 'node:child_process';
import type { Message, Order } from './obey.ts';

/** The processes of one contender. They stay for all rounds, so that what is measured has been compiled before. */
export interface Crew {
  /** Has the first `count` of them do something at once, and waits until all have. */
  tell(order: Order, count: number): Promise<void>;
  /** How many jobs they say they have done since they were last asked to forget. */
  done(): number;
  forget(): void;
  stop(): Promise<void>;
}

export function startCrew(script: URL, size: number): Crew {
  let done = 0;
  const children = Array.from({ length: size }, () => {
    // Standard output is for the report alone.
    const child = fork(script, { stdio: ['ignore', 2, 2, 'ipc'] });
    child.on('message', (message: Message) => {
      if ('done' in message) done += message.done;
    });
    return child;
  });
  return {
    tell: async (order, count) => {
      await Promise.all(children.slice(0, count).map((child) => tell(child, order)));
    },
    done: () => done,
    forget: () => {
      done = 0;
    },
    stop: async () => {
      await Promise.all(children.map(end));
    },
  };
}

function tell(child: ChildProcess, order: Order): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = () => {
      child.off('exit', onExit);
      child.off('message', onMessage);
    };
    const onExit = () => {
      over();
      reject(new Error(`A process ended when it was told to ${order.action}.`));
    };
    const onMessage = (message: Message) => {
      if ('done' in message) return;
      over();
      if (message.error === undefined) resolve();
      else reject(new Error(`${order.action}: ${message.error}`));
    };
    child.on('exit', onExit);
    child.on('message', onMessage);
    child.send(order);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.disconnect();
  await exited;
}
