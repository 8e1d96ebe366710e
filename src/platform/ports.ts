import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fetch as undiciFetch } from 'undici';

/**
 * The one door through which time, randomness, timers and answers of the database come in, so that a test can run a year
 * in a second, and lose a connection at any statement it likes.
 */
export interface Ports {
  /** The time of day, in milliseconds since 1970. Inside the engine this is the database's clock (DB-6). */
  now(): number;
  /** Milliseconds that only ever grow, for measuring how long something took. */
  monotonicMs(): number;
  /** Uniform in [0, 1). */
  random(): number;
  /** A new id; in the order of time, `now()` unless given. */
  newId(nowMs?: number): string;
  /** Resolves after `ms`, or as soon as the signal aborts; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** DB-6: the clock that decides what is due or expired. Null: the database's own, the only one that all processes share. */
  databaseTime(): Date | null;
  /** Every statement goes out through here: `send` puts it on the wire and resolves with the answer. */
  query<T>(statement: string, send: () => Promise<T>): Promise<T>;
  /** Every request to a provider goes out through here. */
  fetch: typeof fetch;
}

/** A timer set for longer than this fires at once. */
const maxDelayMs = 2 ** 31 - 1;

export const systemPorts: Ports = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  newId: (nowMs = Date.now()) => timeOrderedId(nowMs),
  sleep: (ms, signal) => delay(Math.min(ms, maxDelayMs), undefined, { signal }).catch(() => {}),
  databaseTime: () => null,
  query: (_statement, send) => send(),
  // The library's own rather than the platform's: only that one takes its agents, which keep requests to public networks.
  fetch: undiciFetch as unknown as typeof fetch,
};

let lastIdMs = 0;
let idsInMs = 0;

/**
 * A UUID of version 7, each greater than the one before. Ids in the order of time keep inserts at one end of the index;
 * random ones touch all of it. Twelve bits count within a millisecond; one that is full borrows from the next.
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
