import { startChild } from '../tools/child.ts';

/** The commands that a worker process of a subject serves. Only `add` and `run` are timed. */
export type WorkerApi = {
  /** Runs in one process on an empty database: creates tables and rows that must exist before jobs are added. */
  prepare(url: string, variant: string, jobs: number): Promise<void>;
  open(url: string, variant: string): Promise<void>;
  add(jobs: number): Promise<void>;
  /** Starts workers and returns. They call `reportDone`. */
  run(): Promise<void>;
  close(): Promise<void>;
};

/** Two worker processes of one subject. They live for all rounds, so rounds measure compiled code. */
export function startWorkers(script: URL, env?: Record<string, string>) {
  let done = 0;
  const onDone = (jobs: number) => {
    done += jobs;
  };
  const children = [1, 2].map(() => startChild<WorkerApi>(script, { onDone, env }));
  return {
    call: async <Name extends keyof WorkerApi>(
      count: number,
      name: Name,
      ...args: Parameters<WorkerApi[Name]>
    ) => {
      await Promise.all(children.slice(0, count).map((child) => child.call(name, ...args)));
    },
    done: () => done,
    reset: () => {
      done = 0;
    },
    end: () => Promise.all(children.map((child) => child.end())),
  };
}

export type Workers = ReturnType<typeof startWorkers>;
