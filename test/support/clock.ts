import { randomUUID } from 'node:crypto';
import { type Ports, systemPorts } from '../../src/platform/ports.ts';

export interface TestPorts extends Ports {
  set(iso: string): void;
  advance(ms: number): void;
  readonly sleeps: number[];
  /** Resolves at the next sleep of the loop under test. */
  asleep(): Promise<number>;
  wake(): void;
}

/** A clock that moves only on request; sleeps last until `wake`. */
export function testPorts(start = '2025-01-01T12:00:00Z', random: () => number = Math.random): TestPorts {
  let nowMs = Date.parse(start);
  let wakeUp = () => {};
  let onSleep = (_ms: number) => {};
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
        onSleep(ms);
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
        onSleep = resolve;
      }),
    wake: () => wakeUp(),
  };
}
