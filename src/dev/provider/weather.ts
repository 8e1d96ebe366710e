import { hash } from './random.ts';

/** What may go wrong at a provider for a while, for one account. */
export interface Trouble {
  kind: 'broken' | 'too fast' | 'spent';
  untilMs: number;
}

const spellMs = 15_000;
/** One in so many spells is broken, and one limited: at a run a minute, two dozen accounts meet about one of each a minute. */
const usualRarity = 20;
/** Thousands would meet so many that nothing else could be seen. */
const loadRarity = 300;

/** Decided by account and time alone, so that it is the same again under the same clock. */
export function troubleAt(provider: string, account: string, nowMs: number): Trouble | undefined {
  const spell = Math.floor(nowMs / spellMs);
  const rarity = account.startsWith('load-') ? loadRarity : usualRarity;
  const chance = hash(provider, account, spell, 'trouble') % (2 * rarity);
  const untilMs = (spell + 1) * spellMs;
  if (chance < 2) return { kind: 'broken', untilMs };
  if (chance === 2) return { kind: 'too fast', untilMs };
  // Something else that uses the account has used up what it may ask for.
  if (chance === 3) return { kind: 'spent', untilMs };
  return undefined;
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
