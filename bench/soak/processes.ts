import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Order, ProcessReport } from './worker.ts';

/** The processes of the fleet. They stay from the first measurement to the last. */
export interface Processes {
  tell(order: Order): Promise<ProcessReport[]>;
  end(): Promise<void>;
}

type Reply = { answer: ProcessReport } | { error: string };

const script = fileURLToPath(new URL('worker.ts', import.meta.url));
const jiti = fileURLToPath(new URL('lib/jiti-cli.mjs', import.meta.resolve('jiti/package.json')));
/** How long a process may take to end. */
const graceMs = 5000;

export function startProcesses(count: number): Processes {
  const children = Array.from({ length: count }, () =>
    // Standard output is for the report alone.
    fork(jiti, [script], { stdio: ['ignore', 2, 2, 'ipc'], execArgv: ['--expose-gc'] }),
  );
  return {
    tell: (order) => Promise.all(children.map((child) => tell(child, order))),
    end: async () => {
      await Promise.all(children.map(end));
    },
  };
}

function tell(child: ChildProcess, order: Order): Promise<ProcessReport> {
  return new Promise((resolve, reject) => {
    const over = (conclude: () => void) => () => {
      child.off('exit', onExit);
      child.off('message', onMessage);
      conclude();
    };
    const onExit = over(() => reject(new Error(`A process of the fleet ended before it was told to.`)));
    const onMessage = (reply: Reply) =>
      over(() => ('error' in reply ? reject(new Error(reply.error)) : resolve(reply.answer)))();
    if (child.exitCode !== null || child.signalCode !== null) return onExit();
    child.on('exit', onExit);
    child.on('message', onMessage);
    child.send(order);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  if (child.connected) child.disconnect();
  const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(force);
}
