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

export interface TickFacts {
  scheduled: number;
  skippedPending: number;
  invalidMetadata: number;
  backlog: number;
  durationMs: number;
}

export interface SchedulerEvents {
  jobPlaced(job: PlacedJob, config: Config['scheduler']): void;
  invalidMetadata(connection: ScheduledConnection): void;
  tickFinished(result: TickFacts): void;
}

export interface RunEvents {
  runEnded(job: ClaimedJob, end: RunEnd, verdict: Verdict, redact: (text: string) => string): void;
}
