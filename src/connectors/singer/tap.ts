import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { PermanentError } from '../../connector-kit/index.ts';
import { systemPorts } from '../../platform/ports.ts';

export interface TapOptions {
  command: readonly [string, ...string[]];
  arguments: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** Removed when this process is gone before the tap has ended. */
  folder: string;
  /** How long it may take to end after SIGTERM. */
  graceMs: number;
}

/** How a tap ended: a code, or the signal that ended it. */
export interface TapEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Tap {
  stdout: Readable;
  stderr: Readable;
  /** Rejects if it could not be started. */
  ended: Promise<TapEnd>;
  /** Ends it and everything that it started, and resolves when that is done. */
  stop(): Promise<void>;
}

/** A daemon that says something every now and then does not hold up a run for ever. */
const maxRounds = 10;

/** Starts a tap without a shell, as the head of a process group of its own. */
export function startTap(options: TapOptions): Tap {
  const [file, ...fixed] = options.command;
  const child = spawn(file, [...fixed, ...options.arguments], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const guard = startGuard(child, options.folder);
  const hasEnded = new AbortController();
  const ended = new Promise<TapEnd>((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(file, error)));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });

  /**
   * What it started dies with it, which also closes the pipes. What left the group may keep them open: that is waited for
   * only while something still comes, or waits to be read.
   */
  async function leaveNothing(): Promise<void> {
    hasEnded.abort();
    signalGroup(child, 'SIGKILL');
    guard?.kill('SIGKILL');
    const closed = new AbortController();
    void Promise.all([closing(child.stdout), closing(child.stderr)]).then(() => closed.abort());
    let before = -1;
    for (let rounds = 0; rounds < maxRounds && !closed.signal.aborted; rounds++) {
      const now = bytesOf(child);
      if (now === before) break;
      before = now;
      await systemPorts.sleep(options.graceMs, closed.signal);
    }
    child.stdout.destroy();
    child.stderr.destroy();
  }
  const gone = ended.then(leaveNothing, leaveNothing);

  return {
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    stop: async () => {
      // Nobody reads on: a tap that is writing must not wait for that.
      child.stdout.destroy();
      if (!hasEnded.signal.aborted) {
        signalGroup(child, 'SIGTERM');
        await Promise.race([systemPorts.sleep(options.graceMs, hasEnded.signal), gone]);
        if (!hasEnded.signal.aborted) signalGroup(child, 'SIGKILL');
      }
      await gone;
    },
  };
}

/** Waits behind a pipe that closes when this process ends, even by kill -9; then it ends the tap and removes its secrets. */
function startGuard({ pid }: ChildProcess, folder: string): ChildProcess | undefined {
  if (pid === undefined) return undefined;
  const script = 'read -r _; kill -9 -"$1"; rm -rf "$2"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(pid), folder], {
    detached: true,
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Where there is no shell, a tap outlives an engine that is killed, until it writes to its closed stdout.
  guard.once('error', () => {});
  guard.stdin?.once('error', () => {});
  return guard;
}

/** What has come out of its pipes; never the same twice while something waits to be read. */
const bytesOf = ({ stdout, stderr }: ChildProcess) =>
  stdout?.readableLength
    ? Number.NaN
    : ((stdout as Socket).bytesRead ?? 0) + ((stderr as Socket).bytesRead ?? 0);

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}

const closing = (stream: Readable) =>
  new Promise<void>((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', () => resolve());
  });

function cannotStart(file: string, error: NodeJS.ErrnoException): Error {
  const reasons: Record<string, string> = {
    ENOENT: 'it was not found. Install it where the engine runs, or give its full path',
    EACCES: 'it may not be executed. Check its permissions',
  };
  const reason = reasons[error.code ?? ''] ?? error.message;
  return new PermanentError(`The tap "${file}" cannot be started: ${reason}.`, { cause: error });
}
