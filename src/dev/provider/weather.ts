import { isLoad } from './load.ts';
import { hash } from './random.ts';

/** What may go wrong at a provider for a while. */
export interface Trouble {
  kind: 'broken' | 'too fast' | 'spent';
  untilMs: number;
}

const spellMs = 15_000;
/** One in so many spells is broken, and one limited: at a run a minute, two dozen accounts meet about one of each a minute. */
const defaultRarity = 20;
/** Thousands would meet so many that nothing else could be seen. */
const loadRarity = 300;

/**
 * An account is broken, while limits are for all that a holder of a token asks for. Decided by these and the time alone,
 * so that it is the same again under the same clock.
 */
export function troubleAt(
  provider: string,
  { holder, account }: { holder: string; account: string },
  nowMs: number,
): Trouble | undefined {
  const spell = Math.floor(nowMs / spellMs);
  const untilMs = (spell + 1) * spellMs;
  const chance = (name: string, about: string) =>
    hash(provider, name, spell, about) % (2 * (isLoad(name) ? loadRarity : defaultRarity));
  if (chance(account, 'trouble') < 2) return { kind: 'broken', untilMs };
  const limited = chance(holder, 'limit');
  if (limited === 0) return { kind: 'too fast', untilMs };
  // Something else that uses the token has used up what it may ask for.
  return limited === 1 ? { kind: 'spent', untilMs } : undefined;
}

/** From 20 to 400 ms, mostly short. */
export function latencyMs(provider: string, account: string, nowMs: number): number {
  const part = (hash(provider, account, nowMs, 'latency') % 1000) / 1000;
  return Math.round(20 + 380 * part ** 2);
}

const eraMs = 8 * 60_000;

/** When the sync tokens of an account last stopped being valid: at some moment of every fourth era or so. */
export function tokensValidSince(provider: string, account: string, nowMs: number): number {
  const resetIn = (era: number) => era * eraMs + (hash(provider, account, era, 'reset at') % eraMs);
  for (let era = Math.floor(nowMs / eraMs), looked = 0; looked < 8; era--, looked++) {
    const happens = hash(provider, account, era, 'reset') % 4 === 0;
    if (happens && resetIn(era) <= nowMs) return resetIn(era);
  }
  return Number.NEGATIVE_INFINITY;
}
