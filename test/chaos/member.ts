import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';

const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const config = fileURLToPath(new URL('../support/fixtures/chaos.config.mjs', import.meta.url));

export interface MemberOptions {
  name: string;
  /** Arguments of the command line. */
  args: string[];
  env: Record<string, string>;
  /** Of what it says, these are counted. */
  watchFor?: readonly RegExp[];
  /** It ended, and nobody had told it to. */
  onUnexpectedEnd: (how: string) => void;
}

/** A process of the fleet: the command line as built. */
export interface Member {
  name: string;
  pid(): number;
  start(): void;
  /** Resolves when it has said something: from then on it ends in order when it is told to. */
  ready(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Has it end, and waits until it has; what it ended with. */
  end(signal: 'SIGKILL' | 'SIGTERM', maxMs?: number): Promise<string>;
  /** Resolves when it ends by itself, as is expected of it: with what code, and what it had said. */
  ended(): Promise<{ code: number | null; output: string }>;
  /** The end of what it said. */
  output(): string;
  /** What all of its lives said on standard error, where nothing belongs while a service runs; the beginning of it. */
  complaints(): string;
  /** How many of the lines of all of its lives match one of the patterns that are watched for. */
  heard(pattern: RegExp): number;
}

const keptCharacters = 6000;

export function createMember({ name, args, env, watchFor = [], onUnexpectedEnd }: MemberOptions): Member {
  let child: ChildProcess | undefined;
  let output = '';
  let isExpectedToEnd = false;
  let hasEnded: Promise<number | null> = Promise.resolve(null);
  let complaints = '';
  const heard = new Map<RegExp, number>();

  /** A line that has not ended yet. */
  let begun = '';

  function hear(text: string): void {
    output = (output + text).slice(-keptCharacters);
    const lines = (begun + text).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines)
      for (const pattern of watchFor)
        if (pattern.test(line)) heard.set(pattern, (heard.get(pattern) ?? 0) + 1);
  }

  function start(): void {
    const environment = Object.entries(process.env).filter(
      ([key]) => !/^(SYNCLINE_|DATABASE_URL$|NODE_OPTIONS$)/.test(key),
    );
    const current = spawn(process.execPath, [cli, ...args, '--config', config], {
      env: { ...Object.fromEntries(environment), SYNCLINE_METRICS_PORT: '0', ...env },
      // Its input ends when this process does, and it with it.
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child = current;
    output = '';
    isExpectedToEnd = false;
    current.stdin?.on('error', () => {});
    current.stdout?.setEncoding('utf8').on('data', hear);
    current.stderr?.setEncoding('utf8').on('data', (text: string) => {
      hear(text);
      complaints = (complaints + text).slice(0, keptCharacters);
    });
    hasEnded = new Promise((resolve) => {
      current.once('close', (code, signal) => {
        resolve(code);
        if (!isExpectedToEnd)
          onUnexpectedEnd(`${name} ended with ${signal ?? code}, untold. Its last words:\n${output}`);
      });
    });
  }

  const running = () => {
    if (!child?.pid) throw new Error(`${name} does not run`);
    return child;
  };
  const isGone = () => child?.exitCode !== null || child.signalCode !== null;

  return {
    name,
    start,
    pid: () => running().pid as number,
    ready: () => until(`${name} says something`, () => output !== '' || isGone(), 60_000),
    signal: (signal) => void running().kill(signal),
    end: async (signal, maxMs = 90_000) => {
      const current = running();
      isExpectedToEnd = true;
      current.kill(signal);
      await until(`${name} has ended after ${signal}; it last said:\n${output}`, isGone, maxMs);
      return String(current.signalCode ?? current.exitCode);
    },
    ended: async () => {
      isExpectedToEnd = true;
      return { code: await hasEnded, output };
    },
    output: () => output,
    complaints: () => complaints,
    heard: (pattern) => heard.get(pattern) ?? 0,
  };
}
