import { Problem } from './problem.ts';

/** A bound on how much happens at once. */
export interface Slots {
  /** Takes a slot, or refuses. Call what it returns, once, when done. */
  take(holder?: string): () => void;
}

export function createSlots(options: { total: number; perHolder?: number; of: string }): Slots {
  const { total, perHolder = total, of } = options;
  const held = new Map<string, number>();
  let taken = 0;
  return {
    take(holder = '') {
      const own = held.get(holder) ?? 0;
      if (taken >= total)
        throw tooMany(`The service has ${total} ${of} open, which is as many as it takes.`, 503);
      if (own >= perHolder)
        throw tooMany(`You have ${perHolder} ${of} open, which is as many as one may.`, 429);
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
