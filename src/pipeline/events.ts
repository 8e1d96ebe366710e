import type { Config } from '../config/settings.ts';
import type { InvalidField } from '../schedule/sync-metadata.ts';
import type { ClaimedJob } from './claim.ts';
import type { Verdict } from './judge.ts';
import type { RunEnd } from './run.ts';

interface ScheduledConnection {
  id: string;
  tenantId: string;
  providerSlug: string;
  sync: { invalid: InvalidField[] };
}

export interface PlacedJob {
  id: string;
  connection: ScheduledConnection;
  baseSeconds: number;
  jitterSeconds: number;
  slotMs: number;
  scheduledAtMs: number;
  nextRunAtMs: number;
}

/** What one scheduler tick placed and skipped. */
export interface TickResult {
  scheduled: number;
  /** Their job is still pending (SCH-7). */
  skippedPending: number;
  invalidMetadata: number;
  /** SCH-10: connections overdue and not placed when the tick began. */
  backlog: number;
  durationMs: number;
}

export interface SchedulerEvents {
  jobPlaced(job: PlacedJob, config: Config['scheduler']): void;
  invalidMetadata(connection: ScheduledConnection): void;
  tickFinished(result: TickResult): void;
}

export interface RunEvents {
  runEnded(job: ClaimedJob, end: RunEnd, verdict: Verdict, redact: (text: string) => string): void;
}
