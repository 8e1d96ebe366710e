import { Problem } from './problem.ts';

/** A bound on how much happens in parallel. */
export interface Slots {
  /** Takes a slot, or refuses. Call what it returns when done; calling it again does nothing. */
  take(holder?: string): () => void;
}

export interface SlotsOptions {
  total: number;
  /**
   * How many one holder may have. Unless given, as many as are free: one holder alone gets half of them, two get a third each,
   * and as long as there are fewer holders than slots, the next one finds a slot.
   */
  perHolder?: number;
  of: string;
}

export function createSlots({ total, perHolder, of }: SlotsOptions): Slots {
  const held = new Map<string, number>();
  let taken = 0;
  return {
    take(holder = '') {
      const own = held.get(holder) ?? 0;
      const free = total - taken;
      if (free <= 0) throw tooMany(`The service has ${total} ${of} open, which is its limit.`, 503);
      if (own >= (perHolder ?? free))
        throw tooMany(`You have ${own} ${of} open, which is your share right now.`, 429);
      taken++;
      held.set(holder, own + 1);
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        taken--;
        const left = (held.get(holder) ?? 1) - 1;
        if (left > 0) held.set(holder, left);
        else held.delete(holder);
      };
    },
  };
}

function tooMany(detail: string, status: 429 | 503): Problem {
  return new Problem('TOO_MANY', detail, { status, headers: { 'retry-after': '2' } });
}
