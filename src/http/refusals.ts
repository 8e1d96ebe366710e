import type { Logger } from 'pino';
import { type Access, hashOf, publicPrefix, type Refused } from '../api/index.ts';
import { describeError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';
import type { Credentials } from './key-cache.ts';
import { Problem } from './problem.ts';

/**
 * Records refused keys and sessions in the audit log, a bounded number of them: per address and prefix at most one event a
 * minute, per address at most `maxPrefixes` prefixes, and at most `maxEvents` a minute in all; further attempts are counted in the next event. Never holds a secret.
 */
export interface Refusals {
  note(kind: Refused['kind'], secret: string, address: string): void;
  /** Writes the counted attempts, and waits for all writes, up to 2 s. */
  close(): Promise<void>;
}

const windowMs = 60_000;
/** Events of single addresses per minute and process. Attempts beyond it are counted in one more event per kind. */
const maxEvents = 60;
/** Prefixes of one address per minute. Keys with further ones are counted without their prefix, so that others have entries left. */
const maxPrefixes = 5;
/** How long `close` waits for a database that does not answer. */
const maxCloseMs = 2000;

export interface RefusalOptions {
  write: (refused: Refused) => Promise<void>;
  /** Where events go that could not be written. */
  onFailure: (error: unknown) => void;
  /** Writes what has been counted so far. */
  signal?: AbortSignal | undefined;
  monotonicMs?: () => number;
}

export function createRefusals({
  write,
  onFailure,
  signal,
  monotonicMs = systemPorts.monotonicMs,
}: RefusalOptions): Refusals {
  /** By kind, address and prefix: attempts since the last event of the same. */
  const counted = new Map<string, Refused>();
  let windowEndsMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const writes = new Set<Promise<void>>();
  signal?.addEventListener('abort', flush, { once: true });

  return {
    note(kind, secret, address) {
      if (monotonicMs() >= windowEndsMs) flush();
      if (timer === undefined) startWindow();
      const prefix = kind === 'key' ? countedPrefix(publicPrefix(secret), address) : undefined;
      const key = JSON.stringify([kind, address, prefix]);
      const isFirst = !counted.has(key) && counted.size < maxEvents;
      const entry = counted.get(key) ?? (isFirst ? { kind, prefix, address, count: 0 } : several(kind));
      entry.count++;
      if (!isFirst) return;
      const hash = hashOf(secret);
      send({ ...entry, hash });
      // Attempts without a prefix need not be with the same secret: the next event names no key.
      counted.set(key, { ...entry, hash: prefix === undefined ? undefined : hash, count: 0 });
    },

    async close() {
      flush();
      clearTimeout(timer);
      const written = new AbortController();
      await Promise.race([Promise.all(writes), systemPorts.sleep(maxCloseMs, written.signal)]);
      written.abort();
    },
  };

  function countedPrefix(prefix: string | undefined, address: string): string | undefined {
    const own = [...counted.values()].filter((entry) => entry.address === address && entry.prefix);
    const isCounted = own.length < maxPrefixes || own.some((entry) => entry.prefix === prefix);
    return isCounted ? prefix : undefined;
  }

  /** The entry of attempts that have no entry of their own. */
  function several(kind: Refused['kind']): Refused {
    const entry = counted.get(kind) ?? { kind, count: 0 };
    counted.set(kind, entry);
    return entry;
  }

  function startWindow(): void {
    windowEndsMs = monotonicMs() + windowMs;
    timer = setTimeout(flush, windowMs);
    timer.unref();
  }

  /** Ends the window. Attempts that it counted are written, and count as the first event of the next one. */
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const open = [...counted].filter(([, { count }]) => count > 0);
    counted.clear();
    if (open.length === 0) return;
    startWindow();
    for (const [key, entry] of open) {
      send({ ...entry });
      counted.set(key, { ...entry, count: 0 });
    }
  }

  function send(refused: Refused): void {
    const sent = write(refused)
      .catch(onFailure)
      .finally(() => writes.delete(sent));
    writes.add(sent);
  }
}

/** Writes refusals to the audit log. */
export const recordRefusals = (access: Pick<Access, 'recordRefused'>, log: Logger, signal?: AbortSignal) =>
  createRefusals({
    write: (refused) => access.recordRefused(refused),
    onFailure: (error) => log.warn(`refused keys were not recorded: ${describeError(error)}`),
    signal,
  });

/** The same credentials; attempts that they refuse are noted. */
export function notingRefusals(credentials: Credentials, refusals: Refusals): Credentials {
  return {
    ...credentials,
    async identify(kind, secret, address) {
      try {
        const identity = await credentials.identify(kind, secret, address);
        if (!identity) refusals.note(kind, secret, address);
        return identity;
      } catch (error) {
        if (error instanceof Problem && error.code === 'TOO_MANY') refusals.note(kind, secret, address);
        throw error;
      }
    },
  };
}
