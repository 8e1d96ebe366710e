import type { Lane, ReadyRow } from '../store/claims.ts';

export interface ClaimScan {
  /** Undefined: full scan. */
  lanes: readonly Lane[] | undefined;
  rows: readonly ReadyRow[];
  isFull: boolean;
  tookMs: number;
}

export interface ClaimPosition {
  resumeFrom(nowMs: number): readonly Lane[] | undefined;
  record(scan: ClaimScan, nowMs: number): void;
}

/** Slower: the scan read many dead index entries. */
const slowMs = 50;
const slowMsPerJob = 0.5;
const maxFullScanShare = 1 / 20;

/**
 * An old snapshot pins the dead index entries of claimed jobs, which every claim would read. After a slow
 * scan, claims start at each lane's first live position until the next full scan, 20 × its duration later.
 * Earlier jobs and new lanes wait for it.
 */
export function createClaimPosition(): ClaimPosition {
  let lanes: readonly Lane[] | undefined;
  let fullScanAtMs = 0;
  return {
    resumeFrom: (nowMs) => (nowMs < fullScanAtMs ? lanes : undefined),
    record: (scan, nowMs) => {
      if (!scan.lanes) {
        lanes = isSlow(scan) ? firstPerLane(scan.rows) : undefined;
        fullScanAtMs = nowMs + scan.tookMs / maxFullScanShare;
      } else lanes = scan.isFull ? advance(scan.lanes, firstPerLane(scan.rows)) : undefined;
    },
  };
}

const isSlow = ({ tookMs, rows }: ClaimScan) => tookMs > slowMs + slowMsPerJob * rows.length;

const keyOf = ({ slug, priority }: Lane) => `${priority} ${slug}`;

/** Rows are in claim order. */
function firstPerLane(rows: readonly ReadyRow[]): Lane[] {
  const found = new Map<string, Lane>();
  for (const { provider_slug: slug, priority, scheduled_at: at } of rows) {
    const lane = { slug, priority, from: lowerBound(at) };
    if (!found.has(keyOf(lane))) found.set(keyOf(lane), lane);
  }
  return [...found.values()];
}

function advance(lanes: readonly Lane[], first: readonly Lane[]): Lane[] {
  const found = new Map(first.map((lane) => [keyOf(lane), lane]));
  return lanes.map((lane) => found.get(keyOf(lane)) ?? lane);
}

/** Postgres cannot read other years of `toISOString`. */
const lowerBound = (at: Date) =>
  at.getUTCFullYear() > 0 && at.getUTCFullYear() < 10_000 ? at.toISOString() : '-infinity';
