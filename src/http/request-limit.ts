import { Problem } from './problem.ts';

export interface Slots {
  /** 429 or 503 if full. The release is idempotent. */
  take(holder?: string): () => void;
}

export interface SlotsOptions {
  total: number;
  /** Default: the free slots: one holder gets half, two a third each; a new one finds a slot. */
  perHolder?: number;
  /** Plural, for error messages. */
  resource: string;
}

export function createRequestLimit({ total, perHolder, resource }: SlotsOptions): Slots {
  const held = new Map<string, number>();
  let taken = 0;
  return {
    take(holder = '') {
      const own = held.get(holder) ?? 0;
      const free = total - taken;
      if (free <= 0) throw tooMany(`The service has reached its limit of ${total} ${resource}.`, 503);
      if (own >= (perHolder ?? free))
        throw tooMany(`The caller has ${own} ${resource} open, its current share.`, 429);
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
