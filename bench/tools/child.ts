import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Reply } from './serve-commands.ts';

/** A child process that answers commands. */
export interface Child<Command, Answer> {
  send(command: Command): Promise<Answer>;
  /** Disconnects, then kills the process if it does not exit within 5 s. */
  end(): Promise<void>;
}

const graceMs = 5000;

/** Runs a script that calls `serveCommands`. `onDone` receives the job counts that the script reports. */
export function startChild<Command extends object, Answer>(
  script: URL,
  { onDone = () => {}, execArgv = [] }: { onDone?: (jobs: number) => void; execArgv?: string[] } = {},
): Child<Command, Answer> {
  const child = fork(fileURLToPath(script), {
    // Standard output is reserved for the report.
    stdio: ['ignore', 2, 2, 'ipc'],
    serialization: 'advanced',
    execArgv,
  });
  const pending = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  child.on('message', (message) => {
    const reply = message as Reply<Answer>;
    if ('done' in reply) return onDone(reply.done);
    const caller = pending.get(reply.id);
    pending.delete(reply.id);
    if ('error' in reply) caller?.reject(new Error(`${script.pathname}: ${reply.error}`));
    else caller?.resolve(reply.answer);
  });
  const exited = new Promise<void>((resolve) =>
    child.once('exit', () => {
      for (const { reject } of pending.values()) reject(new Error(`${script.pathname} exited.`));
      resolve();
    }),
  );
  return {
    send: (command) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        pending.set(id, { resolve, reject });
        child.send({ id, command }, (error) => error && reject(error));
      }),
    end: async () => {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(force);
    },
  };
}
