import { maxPageBytes } from '../caller/keyset.ts';
import { Problem } from './problem.ts';

/** Memory for responses that can be large, of one process: from before their rows are read until their bodies are sent. */
export interface ResponseMemory {
  /** For one request of a caller. It holds nothing until it reserves. */
  open(holder: string): Reservation;
}

export interface Reservation {
  /** Waits until a page has room. Refuses with 503 after a while. */
  reserve(): Promise<void>;
  /** Keeps what a response really takes. */
  resize(bytes: number): void;
  release(): void;
}

/** Responses are built in milliseconds; memory that is not free by then is held by clients that read slowly. */
const defaultWaitMs = 5000;

interface Waiting {
  holder: string;
  admit: () => void;
}

export function createResponseMemory(
  totalBytes: number,
  { waitMs = defaultWaitMs }: { waitMs?: number } = {},
): ResponseMemory {
  const heldBy = new Map<string, number>();
  const line = new Set<Waiting>();
  let taken = 0;

  /** One page always fits into an empty room. Half of it is the most that one caller gets while others may come. */
  function fits(holder: string): boolean {
    const own = heldBy.get(holder) ?? 0;
    const isWithin = (held: number, bytes: number) => held === 0 || held + maxPageBytes <= bytes;
    return isWithin(taken, totalBytes) && isWithin(own, totalBytes / 2);
  }

  function take(holder: string, bytes: number): void {
    taken += bytes;
    const own = (heldBy.get(holder) ?? 0) + bytes;
    if (own > 0) heldBy.set(holder, own);
    else heldBy.delete(holder);
  }

  function admitNext(): void {
    for (const waiting of line) if (fits(waiting.holder)) waiting.admit();
  }

  function room(holder: string): Promise<void> {
    if (line.size === 0 && fits(holder)) {
      take(holder, maxPageBytes);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(late);
        line.delete(waiting);
      };
      const waiting: Waiting = {
        holder,
        admit: () => {
          leave();
          take(holder, maxPageBytes);
          resolve();
        },
      };
      const late = setTimeout(() => {
        leave();
        reject(noRoom(totalBytes));
      }, waitMs);
      line.add(waiting);
      admitNext();
    });
  }

  return {
    open(holder) {
      let own = 0;
      const resize = (bytes: number) => {
        take(holder, bytes - own);
        own = bytes;
        admitNext();
      };
      return {
        async reserve() {
          if (own > 0) return;
          await room(holder);
          own = maxPageBytes;
        },
        resize,
        release: () => resize(0),
      };
    },
  };
}

const noRoom = (bytes: number) =>
  new Problem('TOO_MANY', `Responses that are being built or sent take ${bytes} bytes, the limit.`, {
    status: 503,
    hint: 'Try again, ask for smaller pages, or read responses faster.',
    headers: { 'retry-after': '2' },
  });
