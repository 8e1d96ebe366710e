import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process that does what it is told, one thing at a time. */
export interface Child<Order, Answer> {
  tell(order: Order): Promise<Answer>;
  /** Ends it, by force if it is too busy to hear of it. */
  end(): Promise<void>;
}

/** How long a process may take to end. */
const graceMs = 3000;

type Reply<Answer> = { answer: Answer } | { error: string };

/** Runs a script that calls `obeyParent`, on the same Node as this process. */
export function startChild<Order extends object, Answer>(script: URL): Child<Order, Answer> {
  // Standard output is for the report alone.
  const child = fork(fileURLToPath(script), { stdio: ['ignore', 2, 2, 'ipc'], serialization: 'advanced' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    tell: (order) =>
      new Promise((resolve, reject) => {
        const onExit = () => reject(new Error(`${script.pathname} ended when it was told something.`));
        child.once('exit', onExit);
        child.once('message', (reply) => {
          child.off('exit', onExit);
          const said = reply as Reply<Answer>;
          if ('error' in said) reject(new Error(`${script.pathname}: ${said.error}`));
          else resolve(said.answer);
        });
        child.send(order);
      }),
    end: async () => {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(force);
    },
  };
}

/** The other side of `startChild`. */
export function obeyParent<Order, Answer>(obey: (order: Order) => Promise<Answer>): void {
  process.on('message', (order) => {
    void obey(order as Order).then(
      (answer) => process.send?.({ answer }),
      (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit());
}
