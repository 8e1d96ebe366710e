import { randomUUID } from 'node:crypto';
import { type Ports, systemPorts } from '../../src/platform/ports.ts';

export interface TestPorts extends Ports {
  /** Sets the time of day. */
  set(iso: string): void;
  advance(ms: number): void;
  /** How long each sleep that was asked for would have taken. */
  readonly sleeps: number[];
  /** Resolves when the loop under test next goes to sleep. */
  asleep(): Promise<number>;
  /** Ends the sleep under way. */
  wake(): void;
}

/** Time stands still until it is moved; a sleep lasts until it is ended. */
export function testPorts(start = '2025-01-01T12:00:00Z', random: () => number = Math.random): TestPorts {
  let nowMs = Date.parse(start);
  let wakeUp = () => {};
  let fellAsleep = (_ms: number) => {};
  const sleeps: number[] = [];
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    random,
    newId: () => randomUUID(),
    sleep: (ms, signal) => {
      sleeps.push(ms);
      return new Promise((resolve) => {
        wakeUp = resolve;
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve());
        fellAsleep(ms);
      });
    },
    databaseTime: () => new Date(nowMs),
    query: (_statement, send) => send(),
    fetch: systemPorts.fetch,
    set: (iso) => {
      nowMs = Date.parse(iso);
    },
    advance: (ms) => {
      nowMs += ms;
    },
    sleeps,
    asleep: () =>
      new Promise((resolve) => {
        fellAsleep = resolve;
      }),
    wake: () => wakeUp(),
  };
}
