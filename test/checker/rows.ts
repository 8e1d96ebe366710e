/** Rows of the history: only columns that invariants use. */
export interface Connection {
  id: string;
  tenant_id: string;
  provider_slug: string;
  status: string;
  metadata: unknown;
  /** Null: by interval. */
  schedule: unknown;
  created_at: string;
  updated_at: string;
  last_incremental_ended_at: string | null;
  waits_for_job: boolean;
  losses: unknown;
}

export interface Job {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_type: string;
  status: string;
  attempts: number;
  scheduled_at: string;
  retry_after: string | null;
  started_at: string | null;
  finished_at: string | null;
  cursor: unknown;
  next_cursor: unknown;
  error: { kind?: string; parked?: boolean; at?: string } | null;
  created_at: string;
  updated_at: string;
  process_id: string | null;
  claim_id: string | null;
  blocked: boolean;
  hinted: boolean;
  signal_count: number;
}

export interface Signal {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_id: string | null;
  dedupe_key: string | null;
  batch: string;
}

export interface Process {
  id: string;
  host: string;
  pid: number;
  started_at: string;
  expires_at: string;
  released: boolean;
}

/** The signals of one transaction and their feed position. */
export interface Batch {
  batch: string;
  position: number | null;
}

export interface Event {
  id: string;
  kind: string;
  connection_id: string | null;
  job_id: string | null;
}

export const isPending = (job: Job | undefined): job is Job =>
  job?.status === 'queued' || job?.status === 'running';
export const isRunning = (job: Job | undefined): job is Job => job?.status === 'running';
export const isEnded = (job: Job | undefined): job is Job => job !== undefined && !isPending(job);

export const msOf = (time: string | null | undefined): number => (time ? Date.parse(time) : Number.NaN);

type JsonObject = Record<string, unknown>;
export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

/** `metadata.sync`, or an empty object. */
export const syncOf = ({ metadata }: Connection): JsonObject => asObject(asObject(metadata)?.['sync']) ?? {};

/** Consecutive process deaths during runs of the connection. */
export const lossesOf = (connection: Connection | undefined): { process: string }[] =>
  Array.isArray(connection?.losses) ? connection.losses : [];

/** JSON null and an absent cursor are equal. */
export const cursorOf = (connection: Connection): unknown => syncOf(connection)['cursor'] ?? null;
