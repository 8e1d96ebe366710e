export type Reply<Answer> = { done: number } | { id: number; answer: Answer } | { id: number; error: string };

/** Reports are batched: a message per job would be part of the measurement. */
const reportIntervalMs = 5;

/** The child's side of `startChild`. `report` adds to the number of finished jobs. */
export function serveCommands<Command, Answer>(
  handle: (command: Command, report: (jobs: number) => void) => Promise<Answer>,
): void {
  const send = (reply: Reply<Answer>) => process.send?.(reply);
  let unreported = 0;
  const report = (jobs: number) => {
    if (unreported === 0)
      setTimeout(() => {
        send({ done: unreported });
        unreported = 0;
      }, reportIntervalMs);
    unreported += jobs;
  };
  process.on('message', (message) => {
    const { id, command } = message as { id: number; command: Command };
    void handle(command, report).then(
      (answer) => send({ id, answer }),
      (error) => send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit());
}
