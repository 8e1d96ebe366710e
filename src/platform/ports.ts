import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../contract/clock.ts';

/** Tests replace these to control time and inject faults. */
export interface Ports extends Clock {
  /** Uniform in [0, 1). */
  random(): number;
  /** A new UUIDv7; `nowMs` defaults to `now()`. */
  newId(nowMs?: number): string;
  /** DB-6: the time for due dates and expiry; null: the database's clock, which all processes share. */
  databaseTime(): Date | null;
  query<T>(statement: string, send: () => Promise<T>): Promise<T>;
  fetch: typeof fetch;
}

/** Node fires longer timers immediately. */
const maxDelayMs = 2 ** 31 - 1;

/** Only composition roots import this; everything else receives ports (`test/layers.unit.test.ts`). */
export const systemPorts: Ports = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  newId: (nowMs = Date.now()) => timeOrderedId(nowMs),
  sleep: (ms, signal, { ref = true } = {}) =>
    delay(Math.min(ms, maxDelayMs), undefined, { signal, ref }).catch(() => {}),
  databaseTime: () => null,
  query: (_statement, send) => send(),
  // undici's fetch, not Node's: only it accepts undici agents, which restrict requests to public networks.
  // Loaded at the first request: loading takes a fifth of a command's start.
  fetch: async (...request) => {
    const undici = await import('undici');
    return (undici.fetch as unknown as typeof fetch)(...request);
  },
};

let lastIdMs = 0;
let idsInMs = 0;

/**
 * Strictly increasing: inserts stay at one end of the index. 12 bits count within a millisecond; on overflow
 * the next one is used.
 */
function timeOrderedId(nowMs: number): string {
  if (nowMs > lastIdMs) {
    lastIdMs = nowMs;
    idsInMs = 0;
  } else if (++idsInMs > 0xfff) {
    lastIdMs++;
    idsInMs = 0;
  }
  const time = lastIdMs.toString(16).padStart(12, '0');
  const count = idsInMs.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}${randomUUID().slice(18)}`;
}
