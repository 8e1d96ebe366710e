import { isLoad } from './load.ts';
import { hash } from './random.ts';

/** Something that happened in an account. */
export interface Item {
  n: number;
  atMs: number;
  /** A number of this item's own for each thing that is to be decided about it. */
  chance(about: string): number;
}

/** Everything that ever happens in an account, worked out when asked for, so that it takes no memory. */
export interface Feed {
  /** The first item that happens at this time or later. */
  firstSince(ms: number): number;
  newest(nowMs: number): number;
  /** Where a list begins that is asked for without a start. */
  backlogStart(nowMs: number): number;
  /** The oldest item that is still there for those who ask for it. */
  oldestKept(nowMs: number): number;
  /** From one item to another, both included. */
  items(from: number, to: number): Item[];
}

const backlogMs = 30 * 60_000;
/** Longer than the backlog, so that what a first sync began with is still there when it asks for the second page. */
const keptMs = 60 * 60_000;

export function feedOf(provider: string, account: string): Feed {
  const paceMs = paceSeconds(provider, account) * 1000;
  const item = (n: number): Item => ({
    n,
    atMs: n * paceMs + secondsInto(n) * 1000,
    chance: (about) => hash(provider, account, n, about),
  });
  // Whole seconds, because some providers tell no more.
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

/** Most accounts have something new every few seconds, and every twelfth is quiet. */
export function paceSeconds(provider: string, account: string): number {
  const chance = hash(provider, account, 'pace');
  // A load of thousands is about runs; at the usual pace it would be about the disk.
  if (isLoad(account)) return 30 + (chance % 60);
  return chance % 12 === 0 ? 240 : 4 + (chance % 9);
}
