import type { Lane, ReadyRow } from '../store/claims.ts';

/** What a claim looked at, and what it found. */
export interface Look {
  /** Where it looked; everywhere if undefined. */
  lanes: readonly Lane[] | undefined;
  rows: readonly ReadyRow[];
  /** Whether as many were found as were asked for. */
  isFull: boolean;
  tookMs: number;
}

/** Where to look for jobs without passing again what has been passed before. */
export interface Lanes {
  /** Undefined: everywhere. */
  known(nowMs: number): readonly Lane[] | undefined;
  learn(look: Look, nowMs: number): void;
}

/** A claim takes a few milliseconds and a little for each job, unless it has to pass what was claimed long ago. */
const slowMs = 50;
const slowMsPerJob = 0.5;
/** Looking everywhere takes this part of the time at most. */
const share = 1 / 20;

/**
 * Somebody who looks at an old snapshot (a backup, a report, a forgotten transaction) keeps Postgres from forgetting what was
 * claimed since, and it lies in the index right before what is to be claimed next: after a million jobs every claim would
 * read a million dead entries. So a process whose look took long remembers where the living begin, and looks from there
 * for a while. A job that comes in before that place, or in another lane, waits until the next look everywhere: for twenty
 * times as long as such a look takes.
 */
export function createLanes(): Lanes {
  let lanes: readonly Lane[] | undefined;
  let untilMs = 0;
  return {
    known: (nowMs) => (nowMs < untilMs ? lanes : undefined),
    learn: (look, nowMs) => {
      if (!look.lanes) {
        lanes = isSlow(look) ? firstOf(look.rows) : undefined;
        untilMs = nowMs + look.tookMs / share;
      } else lanes = look.isFull ? moved(look.lanes, firstOf(look.rows)) : undefined;
    },
  };
}

const isSlow = ({ tookMs, rows }: Look) => tookMs > slowMs + slowMsPerJob * rows.length;

const keyOf = ({ slug, priority }: Lane) => `${priority} ${slug}`;

/** The first of each lane: rows come in the order of claiming. */
function firstOf(rows: readonly ReadyRow[]): Lane[] {
  const found = new Map<string, Lane>();
  for (const { provider_slug: slug, priority, scheduled_at: at } of rows) {
    const lane = { slug, priority, from: placeOf(at) };
    if (!found.has(keyOf(lane))) found.set(keyOf(lane), lane);
  }
  return [...found.values()];
}

function moved(lanes: readonly Lane[], first: readonly Lane[]): Lane[] {
  const found = new Map(first.map((lane) => [keyOf(lane), lane]));
  return lanes.map((lane) => found.get(keyOf(lane)) ?? lane);
}

/** Other times than these cannot be written the same way; whatever they are, nothing is before the beginning. */
const placeOf = (at: Date) =>
  at.getUTCFullYear() > 0 && at.getUTCFullYear() < 10_000 ? at.toISOString() : '-infinity';
