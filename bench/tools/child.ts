import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Handlers, Reply } from './serve-commands.ts';

export interface Child<Api extends Handlers> {
  call<Name extends keyof Api>(name: Name, ...args: Parameters<Api[Name]>): ReturnType<Api[Name]>;
  /** Disconnects, then kills the process if it does not exit within 5 s. */
  end(): Promise<void>;
}

interface ChildOptions {
  onDone?: (jobs: number) => void;
  execArgv?: string[];
  env?: Record<string, string> | undefined;
}

const graceMs = 5000;

/** Runs a script that calls `serveCommands`. `onDone` receives the job counts that the script reports. */
export function startChild<Api extends Handlers>(
  script: URL,
  { onDone = () => {}, execArgv = [], env }: ChildOptions = {},
): Child<Api> {
  // Standard output is reserved for the report.
  const stdio: ('ignore' | 'ipc' | 2)[] = ['ignore', 2, 2, 'ipc'];
  const child = fork(fileURLToPath(script), {
    stdio,
    serialization: 'advanced',
    execArgv,
    env: { ...process.env, ...env },
  });
  const pending = new Map<number, { resolve: (answer: never) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  child.on('message', (message) => {
    const reply = message as Reply;
    if ('done' in reply) return onDone(reply.done);
    const caller = pending.get(reply.id);
    pending.delete(reply.id);
    if ('error' in reply) caller?.reject(new Error(`${script.pathname}: ${reply.error}`));
    else caller?.resolve(reply.answer as never);
  });
  const exited = new Promise<void>((resolve) =>
    child.once('exit', () => {
      for (const { reject } of pending.values()) reject(new Error(`${script.pathname} exited.`));
      resolve();
    }),
  );
  return {
    call: (name, ...args) =>
      new Promise((resolve, reject) => {
        pending.set(++lastId, { resolve, reject });
        child.send({ id: lastId, name, args }, (error) => error && reject(error));
      }) as never,
    end: async () => {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(force);
    },
  };
}
