import type { Lane, ReadyRow } from '../store/claims.ts';

export interface ClaimScan {
  /** Undefined: full scan. */
  lanes: readonly Lane[] | undefined;
  rows: readonly ReadyRow[];
  isFull: boolean;
  tookMs: number;
}

/** The first job of a lane. */
type LaneHead = Pick<Lane, 'slug' | 'priority'> & { scheduled_at: Date };

export interface ClaimPosition {
  resumeFrom(monotonicMs: number): readonly Lane[] | undefined;
  /** `findLanes` is called after a slow full scan that returned `limit` rows, which may be of few lanes. */
  record(scan: ClaimScan, monotonicMs: number, findLanes: () => Promise<readonly LaneHead[]>): Promise<void>;
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
  let fullScanAtMonotonicMs = 0;
  return {
    resumeFrom: (monotonicMs) => (monotonicMs < fullScanAtMonotonicMs ? lanes : undefined),
    record: async (scan, monotonicMs, findLanes) => {
      if (scan.lanes) {
        lanes = scan.isFull ? advance(scan.lanes, firstPerLane(scan.rows)) : undefined;
        return;
      }
      // Before a statement that may fail.
      lanes = undefined;
      fullScanAtMonotonicMs = monotonicMs + scan.tookMs / maxFullScanShare;
      // EXE-2: without all lanes, the missing ones would wait for the next full scan.
      if (isSlow(scan)) lanes = scan.isFull ? (await findLanes()).map(laneOf) : firstPerLane(scan.rows);
    },
  };
}

const isSlow = ({ tookMs, rows }: ClaimScan) => tookMs > slowMs + slowMsPerJob * rows.length;

const keyOf = ({ slug, priority }: Lane) => `${priority} ${slug}`;

const laneOf = ({ slug, priority, scheduled_at }: LaneHead): Lane => ({
  slug,
  priority,
  from: lowerBound(scheduled_at),
});

/** Rows are in claim order. */
function firstPerLane(rows: readonly ReadyRow[]): Lane[] {
  const found = new Map<string, Lane>();
  for (const { provider_slug: slug, priority, scheduled_at } of rows) {
    const lane = laneOf({ slug, priority, scheduled_at });
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
