import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';

const builtCli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const config = fileURLToPath(new URL('../support/fixtures/chaos.config.mjs', import.meta.url));

export interface MemberOptions {
  name: string;
  args: string[];
  env: Record<string, string>;
  /** Default: the built CLI. */
  cli?: string;
  countedPatterns?: readonly RegExp[];
  onUnexpectedEnd: (description: string) => void;
}

/** A process of the fleet: the built CLI. */
export interface Member {
  name: string;
  pid(): number;
  start(): void;
  /** After the first output, SIGTERM causes a graceful stop. */
  ready(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Returns the exit code or signal. */
  end(signal: 'SIGKILL' | 'SIGTERM', maxMs?: number): Promise<string>;
  ended(): Promise<{ code: number | null; output: string }>;
  output(): string;
  /** Over all restarts; must be empty. */
  standardError(): string;
  logCount(pattern: RegExp): number;
}

const maxOutputLength = 6000;

export function createMember({
  name,
  args,
  env,
  cli = builtCli,
  countedPatterns = [],
  onUnexpectedEnd,
}: MemberOptions): Member {
  let child: ChildProcess | undefined;
  let output = '';
  let isExpectedToEnd = false;
  let hasEnded: Promise<number | null> = Promise.resolve(null);
  let standardError = '';
  const counts = new Map<RegExp, number>();

  let partialLine = '';

  function onOutput(text: string): void {
    output = (output + text).slice(-maxOutputLength);
    const lines = (partialLine + text).split('\n');
    partialLine = lines.pop() ?? '';
    for (const line of lines)
      for (const pattern of countedPatterns)
        if (pattern.test(line)) counts.set(pattern, (counts.get(pattern) ?? 0) + 1);
  }

  function start(): void {
    const environment = Object.entries(process.env).filter(
      ([key]) => !/^(SYNCLINE_|DATABASE_URL$|NODE_OPTIONS$)/.test(key),
    );
    const current = spawn(process.execPath, [cli, ...args, '--config', config], {
      env: { ...Object.fromEntries(environment), SYNCLINE_METRICS_PORT: '0', ...env },
      // The child exits when this process does, because its standard input closes.
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child = current;
    output = '';
    isExpectedToEnd = false;
    current.stdin?.on('error', () => {});
    current.stdout?.setEncoding('utf8').on('data', onOutput);
    current.stderr?.setEncoding('utf8').on('data', (text: string) => {
      onOutput(text);
      standardError = (standardError + text).slice(0, maxOutputLength);
    });
    hasEnded = new Promise((resolve) => {
      current.once('close', (code, signal) => {
        resolve(code);
        if (!isExpectedToEnd)
          onUnexpectedEnd(`${name} exited unexpectedly with ${signal ?? code}. Last output:\n${output}`);
      });
    });
  }

  const running = () => {
    if (!child?.pid) throw new Error(`${name} is not running`);
    return child;
  };
  const hasExited = () => child?.exitCode !== null || child.signalCode !== null;

  return {
    name,
    start,
    pid: () => running().pid as number,
    ready: () => until(`${name} has written output`, () => output !== '' || hasExited(), 60_000),
    signal: (signal) => void running().kill(signal),
    end: async (signal, maxMs = 90_000) => {
      const current = running();
      isExpectedToEnd = true;
      current.kill(signal);
      await until(`${name} has exited after ${signal}; last output:\n${output}`, hasExited, maxMs);
      return String(current.signalCode ?? current.exitCode);
    },
    ended: async () => {
      isExpectedToEnd = true;
      return { code: await hasEnded, output };
    },
    output: () => output,
    standardError: () => standardError,
    logCount: (pattern) => counts.get(pattern) ?? 0,
  };
}
