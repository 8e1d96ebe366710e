import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { until } from './until.ts';

const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  process: ChildProcess;
  /** Resolves with the output so far as soon as it matches, on either stream. */
  output(pattern: RegExp): Promise<string>;
  /** Looks again and again until it is so; fails with what the process said, should it end first. */
  until(what: string, condition: () => Promise<boolean>): Promise<void>;
  finished: Promise<Finished>;
}

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** What it reads from its standard input; nothing unless given. */
  input?: string;
  /** It is not killed when the test ends: whoever started it ends it. */
  outlivesTest?: boolean;
}

/** Starts the real command line, as built, as a process of its own. */
export function startCli(args: string[], options: RunOptions = {}): Running {
  return startProcess(process.execPath, [cli, ...args], options);
}

/** Runs the command line to its end. */
export function runCli(args: string[], options: RunOptions = {}): Promise<Finished> {
  return startCli(args, options).finished;
}

export function startProcess(
  command: string,
  args: string[],
  { env = {}, cwd, input, outlivesTest = false }: RunOptions = {},
): Running {
  const child = spawn(command, args, {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => {}).end(input);
  if (!outlivesTest) running.add(child);
  let [stdout, stderr] = ['', ''];
  let hasEnded = false;
  const watchers = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const watcher of watchers) watcher();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const watcher of watchers) watcher();
  });
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      running.delete(child);
      hasEnded = true;
      resolve({ code, signal, stdout, stderr });
      for (const watcher of watchers) watcher();
    });
  });
  return {
    process: child,
    finished,
    output: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (pattern.test(stdout) || pattern.test(stderr)) resolve(stdout + stderr);
          else if (hasEnded) reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`));
        };
        watchers.add(look);
        look();
      }),
    until: (what, condition) =>
      until(what, async () => {
        if (hasEnded) throw new Error(`ended before ${what}: ${stdout}${stderr}`);
        return condition();
      }),
  };
}

/** This process's environment without what would configure the engine. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SYNCLINE_|DATABASE_URL$|NODE_OPTIONS$)/.test(name)),
  );
}
