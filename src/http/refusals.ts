import type { Logger } from 'pino';
import { describeError } from '../contract/errors.ts';
import type { Access, Refused } from '../index.ts';
import type { Ports } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { hashOf, publicPrefix } from '../values/secret-token.ts';
import type { KeyCache } from './key-cache.ts';
import { Problem } from './problem.ts';

/**
 * Audits refused keys and sessions, without secrets: one event per minute, address and prefix, with a count.
 */
export interface Refusals {
  record(kind: Refused['kind'], secret: string, address: string): void;
  /** Waits up to 2 s for writes. */
  close(): Promise<void>;
}

const windowMs = 60_000;
/** Per minute; then one event per kind. */
const maxEvents = 60;
/** Per address and minute; then without prefix: one address cannot use up `maxEvents`. */
const maxPrefixes = 5;
const maxCloseMs = 2000;

export interface RefusalOptions {
  write: (refused: Refused) => Promise<void>;
  onFailure: (error: unknown) => void;
  signal?: AbortSignal | undefined;
  ports: Pick<Ports, 'monotonicMs' | 'sleep'>;
}

export function createRefusals({ write, onFailure, signal, ports }: RefusalOptions): Refusals {
  const counted = new Map<string, Refused>();
  let windowEndsMs = Number.NEGATIVE_INFINITY;
  let cancelWindow: (() => void) | undefined;
  const writes = new Set<Promise<void>>();
  signal?.addEventListener('abort', flush, { once: true });

  return {
    record(kind, secret, address) {
      if (ports.monotonicMs() >= windowEndsMs) flush();
      if (!cancelWindow) startWindow();
      const prefix = kind === 'key' ? countedPrefix(publicPrefix(secret), address) : undefined;
      const key = JSON.stringify([kind, address, prefix]);
      const isFirst = !counted.has(key) && counted.size < maxEvents;
      const entry = counted.get(key) ?? (isFirst ? { kind, prefix, address, count: 0 } : overflowEntry(kind));
      entry.count++;
      if (!isFirst) return;
      const hash = hashOf(secret);
      send({ ...entry, hash });
      // Without prefix, secrets may differ: name no key.
      counted.set(key, { ...entry, hash: prefix === undefined ? undefined : hash, count: 0 });
    },

    async close() {
      flush();
      cancelWindow?.();
      const written = new AbortController();
      await Promise.race([Promise.all(writes), ports.sleep(maxCloseMs, written.signal)]);
      written.abort();
    },
  };

  function countedPrefix(prefix: string | undefined, address: string): string | undefined {
    const own = [...counted.values()].filter((entry) => entry.address === address && entry.prefix);
    const isCounted = own.length < maxPrefixes || own.some((entry) => entry.prefix === prefix);
    return isCounted ? prefix : undefined;
  }

  function overflowEntry(kind: Refused['kind']): Refused {
    const entry = counted.get(kind) ?? { kind, count: 0 };
    counted.set(kind, entry);
    return entry;
  }

  function startWindow(): void {
    windowEndsMs = ports.monotonicMs() + windowMs;
    cancelWindow = startTimer(ports, windowMs, flush, { ref: false });
  }

  /** Into the next window. */
  function flush(): void {
    cancelWindow?.();
    cancelWindow = undefined;
    const unwritten = [...counted].filter(([, { count }]) => count > 0);
    counted.clear();
    if (unwritten.length === 0) return;
    startWindow();
    for (const [key, entry] of unwritten) {
      send({ ...entry });
      counted.set(key, { ...entry, count: 0 });
    }
  }

  function send(refused: Refused): void {
    const pending = write(refused)
      .catch(onFailure)
      .finally(() => writes.delete(pending));
    writes.add(pending);
  }
}

export const recordRefusals = (
  { access, ports }: { access: Pick<Access, 'recordRefused'>; ports: Ports },
  log: Logger,
  signal?: AbortSignal,
) =>
  createRefusals({
    ports,
    write: (refused) => access.recordRefused(refused),
    onFailure: (error) => log.warn(`recording refused keys failed: ${describeError(error)}`),
    signal,
  });

export function recordingRefusals(keyCache: KeyCache, refusals: Refusals): KeyCache {
  return {
    ...keyCache,
    async identify(kind, secret, address) {
      try {
        const identity = await keyCache.identify(kind, secret, address);
        if (!identity) refusals.record(kind, secret, address);
        return identity;
      } catch (error) {
        if (error instanceof Problem && error.code === 'TOO_MANY') refusals.record(kind, secret, address);
        throw error;
      }
    },
  };
}
