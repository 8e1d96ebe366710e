import { isLoad } from './load.ts';
import { hash } from './random.ts';

export interface Trouble {
  kind: 'broken' | 'too fast' | 'spent';
  untilMs: number;
}

const spellMs = 15_000;
/** With 24 accounts, about one failure and one rate limit per minute. */
const defaultRarity = 20;
/** Thousands would flood the log. */
const loadRarity = 300;

/** Failures per account, rate limits per holder. */
export function troubleAt(
  provider: string,
  { holder, account }: { holder: string; account: string },
  nowMs: number,
): Trouble | undefined {
  const spell = Math.floor(nowMs / spellMs);
  const untilMs = (spell + 1) * spellMs;
  const chance = (name: string, topic: string) =>
    hash(provider, name, spell, topic) % (2 * (isLoad(name) ? loadRarity : defaultRarity));
  if (chance(account, 'trouble') < 2) return { kind: 'broken', untilMs };
  const limited = chance(holder, 'limit');
  if (limited === 0) return { kind: 'too fast', untilMs };
  // By another client of the token.
  return limited === 1 ? { kind: 'spent', untilMs } : undefined;
}

export function latencyMs(provider: string, account: string, nowMs: number): number {
  const part = (hash(provider, account, nowMs, 'latency') % 1000) / 1000;
  return Math.round(20 + 380 * part ** 2);
}

const eraMs = 8 * 60_000;

/** Earlier sync tokens are invalid. */
export function tokensValidSince(provider: string, account: string, nowMs: number): number {
  const resetIn = (era: number) => era * eraMs + (hash(provider, account, era, 'reset at') % eraMs);
  for (let era = Math.floor(nowMs / eraMs), checked = 0; checked < 8; era--, checked++) {
    const happens = hash(provider, account, era, 'reset') % 4 === 0;
    if (happens && resetIn(era) <= nowMs) return resetIn(era);
  }
  return Number.NEGATIVE_INFINITY;
}
