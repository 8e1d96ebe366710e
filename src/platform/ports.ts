import { randomBytes } from 'node:crypto';
import { clearTimeout, setTimeout } from 'node:timers';
import type { Clock } from '../contract/clock.ts';

/** Tests replace these to control time and inject faults. */
export interface Ports extends Clock {
  /** Uniform in [0, 1). */
  random(): number;
  /** A new UUIDv7; `nowMs` defaults to `now()`. */
  newId(nowMs?: number): string;
  /** DB-6: time of due dates and expiry; null: the database's clock, which all processes share. */
  databaseTime(): Date | null;
  /** Sends each statement, so that a test can delay or fail it by its text. */
  query<T>(statement: string, send: () => Promise<T>): Promise<T>;
  fetch: typeof fetch;
}

/** Node fires longer timers immediately. */
const maxDelayMs = 2 ** 31 - 1;

/** Only composition roots import this (`test/layers.unit.test.ts`). */
export const systemPorts: Ports = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  newId: (nowMs = Date.now()) => timeOrderedId(nowMs),
  sleep,
  databaseTime: () => null,
  query: (_statement, send) => send(),
  // Only undici's fetch accepts undici agents, which restrict requests to public networks. Loading it takes a
  // fifth of a command's start.
  fetch: async (...request) => {
    const undici = await import('undici');
    return (undici.fetch as unknown as typeof fetch)(...request);
  },
};

/** Not that of `node:timers/promises`, which creates an error with a stack trace for each abort. */
function sleep(ms: number, signal: AbortSignal, { ref = true }: { ref?: boolean } = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, maxDelayMs));
    if (!ref) timer.unref();
    signal.addEventListener('abort', end);
  });
}

let lastIdMs = 0;
/** `lastIdMs` as in an id. */
let idTime = '';
let idsInMs = 0;
/** Hexadecimal; one generator call serves hundreds of ids. */
let randomDigits = '';
let usedDigits = 0;
const randomPoolBytes = 4096;

/**
 * Strictly increasing: inserts stay at one end of the index. 12 bits count within a millisecond, then in the
 * next.
 */
function timeOrderedId(nowMs: number): string {
  if (nowMs > lastIdMs) startMillisecond(nowMs);
  else if (++idsInMs > 0xfff) startMillisecond(lastIdMs + 1);
  const count = idsInMs.toString(16).padStart(3, '0');
  const random = takeDigits(16);
  // The two upper bits are the UUID variant.
  const variant = ((Number.parseInt(random.charAt(0), 16) & 3) | 8).toString(16);
  return `${idTime}-7${count}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}

function startMillisecond(ms: number): void {
  const time = ms.toString(16).padStart(12, '0');
  lastIdMs = ms;
  idTime = `${time.slice(0, 8)}-${time.slice(8)}`;
  idsInMs = 0;
}

function takeDigits(count: number): string {
  if (usedDigits + count > randomDigits.length) {
    randomDigits = randomBytes(randomPoolBytes).toString('hex');
    usedDigits = 0;
  }
  usedDigits += count;
  return randomDigits.slice(usedDigits - count, usedDigits);
}
