export type Handlers = Record<string, (...args: never[]) => Promise<unknown>>;
export type Reply = { done: number } | { id: number; answer: unknown } | { id: number; error: string };

/** Reports are batched: a message per job would be part of the measurement. */
const reportIntervalMs = 5;
let unreported = 0;

export function serveCommands(handlers: Handlers): void {
  process.on('message', (message) => {
    const { id, name, args } = message as { id: number; name: string; args: never[] };
    handlers[name]?.(...args).then(
      (answer) => send({ id, answer }),
      (error) => send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit());
}

export function reportDone(jobs: number): void {
  if (unreported === 0)
    setTimeout(() => {
      send({ done: unreported });
      unreported = 0;
    }, reportIntervalMs);
  unreported += jobs;
}

function send(reply: Reply): void {
  process.send?.(reply);
}
