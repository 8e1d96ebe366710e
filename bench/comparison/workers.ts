import { startChild } from '../tools/child.ts';
import { serveCommands } from '../tools/serve-commands.ts';

/** The commands that a worker process of a subject runs. Only `add` and `run` are timed. */
type WorkerCommand =
  | { action: 'prepare' | 'open'; url: string; variant: string; jobs: number }
  | { action: 'add'; jobs: number }
  | { action: 'run' | 'close' };

/** The code of a subject in its worker processes. */
export interface WorkerCode {
  /** Runs in one process on an empty database: creates tables and rows that must exist before jobs are added. */
  prepare(url: string, variant: string, jobs: number): Promise<void>;
  open(url: string, variant: string): Promise<void>;
  /** Queues the jobs. */
  add(jobs: number): Promise<void>;
  /** Starts workers and returns. The workers call `report` with the number of finished jobs. */
  run(report: (jobs: number) => void): Promise<void>;
  close(): Promise<void>;
}

export function serveWorker(code: WorkerCode): void {
  serveCommands<WorkerCommand, void>((command, report) => {
    if (command.action === 'prepare') return code.prepare(command.url, command.variant, command.jobs);
    if (command.action === 'open') return code.open(command.url, command.variant);
    if (command.action === 'add') return code.add(command.jobs);
    if (command.action === 'run') return code.run(report);
    return code.close();
  });
}

/** The worker processes of one subject. They live for all rounds, so rounds measure compiled code. */
export interface Workers {
  /** Sends a command to the first `count` processes in parallel. */
  send(command: WorkerCommand, count: number): Promise<void>;
  /** Finished jobs since `reset`. */
  done(): number;
  reset(): void;
  end(): Promise<void>;
}

export function startWorkers(script: URL, size: number): Workers {
  let done = 0;
  const onDone = (jobs: number) => {
    done += jobs;
  };
  const children = Array.from({ length: size }, () => startChild<WorkerCommand, void>(script, { onDone }));
  return {
    send: async (command, count) => {
      await Promise.all(children.slice(0, count).map((child) => child.send(command)));
    },
    done: () => done,
    reset: () => {
      done = 0;
    },
    end: async () => {
      await Promise.all(children.map((child) => child.end()));
    },
  };
}
