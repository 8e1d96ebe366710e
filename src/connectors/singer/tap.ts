import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { type Clock, PermanentError } from '../../connector-kit/index.ts';

export interface TapOptions {
  command: readonly [string, ...string[]];
  arguments: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** Removed if this process dies before the tap. */
  folder: string;
  graceMs: number;
  clock: Pick<Clock, 'sleep'>;
}

export interface TapEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Tap {
  stdout: Readable;
  stderr: Readable;
  ended: Promise<TapEnd>;
  stop(): Promise<void>;
}

/** Bounds the wait for daemons that keep writing. */
const maxDrainRounds = 10;

/** Starts a tap without a shell, in its own process group. */
export function startTap(options: TapOptions): Tap {
  const [file, ...fixedArguments] = options.command;
  const guard = startGuard(options.folder);
  const child = spawn(file, [...fixedArguments, ...options.arguments], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) guard.stdin?.write(`${child.pid}\n`);
  const hasEnded = new AbortController();
  const ended = new Promise<TapEnd>((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(file, error)));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });

  /**
   * Killing the process group closes the pipes, unless other processes hold them: waits only while data
   * arrives or is unread.
   */
  async function cleanUp(): Promise<void> {
    hasEnded.abort();
    signalGroup(child, 'SIGKILL');
    guard.kill('SIGKILL');
    const closed = new AbortController();
    void Promise.all([streamClosed(child.stdout), streamClosed(child.stderr)]).then(() => closed.abort());
    let lastBytes = -1;
    for (let rounds = 0; rounds < maxDrainRounds && !closed.signal.aborted; rounds++) {
      const bytes = bytesOf(child);
      if (bytes === lastBytes) break;
      lastBytes = bytes;
      await options.clock.sleep(options.graceMs, closed.signal);
    }
    child.stdout.destroy();
    child.stderr.destroy();
  }
  const cleanedUp = ended.then(cleanUp, cleanUp);

  return {
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    stop: async () => {
      // Unblocks a tap that is writing.
      child.stdout.destroy();
      if (!hasEnded.signal.aborted) {
        signalGroup(child, 'SIGTERM');
        await Promise.race([options.clock.sleep(options.graceMs, hasEnded.signal), cleanedUp]);
        if (!hasEnded.signal.aborted) signalGroup(child, 'SIGKILL');
      }
      await cleanedUp;
    },
  };
}

/**
 * Watchdog: its stdin closes when this process dies, even by SIGKILL. It kills the tap and deletes its
 * secrets. Starts first: no tap runs unprotected.
 */
function startGuard(folder: string): ChildProcess {
  const script = 'read -r group; read -r _; [ -n "$group" ] && kill -9 -"$group"; rm -rf "$1"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', folder], {
    detached: true,
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without /bin/sh, a tap outlives a killed engine until it writes to closed stdout.
  guard.once('error', () => {});
  guard.stdin?.once('error', () => {});
  return guard;
}

/** NaN, never equal to itself, while stdout has unread data. */
const bytesOf = ({ stdout, stderr }: ChildProcess) =>
  stdout?.readableLength
    ? Number.NaN
    : ((stdout as Socket).bytesRead ?? 0) + ((stderr as Socket).bytesRead ?? 0);

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the group is empty.
  }
}

const streamClosed = (stream: Readable) =>
  new Promise<void>((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', () => resolve());
  });

function cannotStart(file: string, error: NodeJS.ErrnoException): Error {
  const reasons: Record<string, string> = {
    ENOENT: 'it was not found. Install it where the engine runs, or use its full path',
    EACCES: 'it is not executable. Check its permissions',
  };
  const reason = reasons[error.code ?? ''] ?? error.message;
  return new PermanentError(`The tap "${file}" cannot be started: ${reason}.`, { cause: error });
}
