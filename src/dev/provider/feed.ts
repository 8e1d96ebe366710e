import { isLoad } from './load.ts';
import { hash } from './random.ts';

export interface Item {
  n: number;
  atMs: number;
  /** Deterministic, one per topic. */
  chance(topic: string): number;
}

export interface Feed {
  firstSince(ms: number): number;
  newest(nowMs: number): number;
  backlogStart(nowMs: number): number;
  oldestKept(nowMs: number): number;
  /** Inclusive. */
  items(from: number, to: number): Item[];
}

const backlogMs = 30 * 60_000;
/** A first sync's second page must still be available. */
const keptMs = 60 * 60_000;

export function feedOf(provider: string, account: string): Feed {
  const paceMs = paceSeconds(provider, account) * 1000;
  const item = (n: number): Item => ({
    n,
    atMs: n * paceMs + secondsInto(n) * 1000,
    chance: (topic) => hash(provider, account, n, topic),
  });
  // Providers with whole seconds.
  const secondsInto = (n: number) => hash(provider, account, n) % (paceMs / 1000);
  const firstSince = (ms: number) => {
    const n = Math.floor(ms / paceMs);
    return item(n).atMs >= ms ? n : n + 1;
  };
  return {
    firstSince,
    newest: (nowMs) => firstSince(nowMs + 1) - 1,
    backlogStart: (nowMs) => firstSince(nowMs - backlogMs),
    oldestKept: (nowMs) => firstSince(nowMs - keptMs),
    items: (from, to) => Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => item(from + i)),
  };
}

export function paceSeconds(provider: string, account: string): number {
  const chance = hash(provider, account, 'pace');
  // Thousands of accounts would be disk-bound.
  if (isLoad(account)) return 30 + (chance % 60);
  return chance % 12 === 0 ? 240 : 4 + (chance % 9);
}
