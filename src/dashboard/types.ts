/** API responses. Times are ISO 8601 in UTC. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

export interface Problem {
  title: string;
  status: number;
  detail: string;
  code: string;
  hint?: string;
  errors?: { field: string; message: string }[];
}

export interface Me {
  scope: 'operator' | 'tenant';
  tenant_id: string | null;
  tenant_name: string | null;
  actor: string;
  version: string;
}

export interface Tenant {
  id: string;
  name: string | null;
  created_at: string;
}

export interface Provider {
  slug: string;
  display_name: string | null;
}

export const healths = ['ok', 'failing', 'needs_auth', 'paused', 'disabled'] as const;
export type Health = (typeof healths)[number];

export const jobStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const jobTypes = ['incremental', 'full', 'webhook'] as const;
type JobType = (typeof jobTypes)[number];

export interface RecentRun {
  job_id: string;
  status: JobStatus;
  ended_at: string | null;
  duration_ms: number | null;
  signals: number;
}

export interface Connection {
  id: string;
  tenant_id: string;
  tenant_name: string | null;
  provider: string;
  provider_name: string | null;
  external_id: string | null;
  status: 'active' | 'paused' | 'needs_auth' | 'disabled';
  health: Health;
  failing_since: string | null;
  deleting_since: string | null;
  failure: string | null;
  /** Null: the default interval. */
  interval_seconds: number | null;
  /** Effective interval. */
  base_interval_seconds: number;
  next_start_at: string | null;
  next_run_at: string | null;
  last_ended_at: string | null;
  first_activated_at: string | null;
  last_jitter_seconds: number | null;
  cursor: Json;
  config: { [key: string]: Json };
  /** Ignored by the engine. */
  invalid_metadata: { field: string; value?: string; expected?: string }[];
  created_at: string;
  updated_at: string;
  recent?: RecentRun[];
}

export interface RunError {
  kind: string;
  name: string;
  message: string;
  at: string;
  hint?: string;
}

export interface Job {
  id: string;
  tenant_id: string;
  provider: string;
  connection_id: string;
  connection_name: string | null;
  type: JobType;
  status: JobStatus;
  priority: number;
  /** Earlier failures. */
  attempts: number;
  scheduled_at: string | null;
  retry_after: string | null;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  signals: number;
  cursor: Json;
  next_cursor: Json;
  error: RunError | null;
  blocked: boolean;
  created_at: string;
}

export interface LogLine {
  at: string;
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  message: string;
  fields: { [key: string]: Json };
}

export interface Attempt {
  number: number;
  outcome: 'succeeded' | 'failed' | 'retried' | 'lost' | 'cancelled' | 'running';
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  error: RunError | null;
  retry_after: string | null;
  log: LogLine[];
}

export interface JobDetail extends Job {
  verdict: string;
  attempts_log: Attempt[];
}

export interface Signal {
  id: string;
  tenant_id: string;
  provider: string;
  connection_id: string;
  connection_name: string | null;
  job_id: string | null;
  kind: string;
  occurred_at: string | null;
  received_at: string;
  dedupe_key: string | null;
  payload?: Json;
}

export interface AuditEvent {
  id: string;
  at: string;
  kind: string;
  actor: string | null;
  key_id: string | null;
  reason: string | null;
  tenant_id: string | null;
  connection_id: string | null;
  job_id: string | null;
  detail: { [key: string]: Json } | null;
}

export interface ApiKey {
  id: string;
  name: string;
  prefix: string;
  scope: 'operator' | 'tenant';
  tenant_id: string | null;
  created_at: string;
  created_by: string | null;
  parent_id: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  /** Only when created. */
  key?: string;
}

export interface Explanation {
  state: string;
  sentence: string;
  next_run_at: string | null;
}

export interface Schedule {
  pending: 'queued' | 'running' | null;
  runs: { earliest: string; latest: string }[];
}

export interface StoredCursor {
  job_id: string | null;
  at: string;
  cursor: Json;
  current: boolean;
}

export interface Count {
  count: number;
  at_least: boolean;
}

interface Queue {
  due: Count;
  backing_off: Count;
  blocked: Count;
  running: Count;
}

export interface Stats {
  now: string;
  connections: Record<Health | 'total', Count>;
  queue: Queue | null;
  last_tick_at: string | null;
  executors: { alive: number; slots: number } | null;
  last_hour: { succeeded: number; failed: number; retried: number; signals: number };
}

export interface SeriesPoint {
  at: string;
  succeeded: number;
  failed: number;
  retried: number;
  signals: number;
  lag_p50_ms: number | null;
  lag_p95_ms: number | null;
  freshness_p50_seconds: number | null;
  freshness_p95_seconds: number | null;
}

export interface Series {
  from: string;
  to: string;
  step_seconds: number;
  points: SeriesPoint[];
}

export interface Load {
  minutes: { at: string; runs: number }[];
  estimated: boolean;
}

export interface AttentionItem {
  cause: 'needs_auth' | 'failing' | 'paused' | 'overdue' | 'too_far_ahead' | 'unserved';
  provider: string | null;
  failure: string | null;
  count: number;
  at_least: boolean;
  since: string | null;
  message: string | null;
  remedy: string;
  filter: { health?: string; provider?: string } | null;
}

export interface RepairStep {
  items: { connection_id: string; next_run_at: { from: string; to: string } | null; job_ids: string[] }[];
  skipped: number;
  next_cursor: string | null;
}

export interface ProcessInfo {
  id: string;
  host: string | null;
  pid: number | null;
  roles: string[];
  concurrency: number | null;
  providers: string[];
  started_at: string | null;
  expires_at: string | null;
  alive: boolean;
  running: number;
  clock_skew_seconds: number;
}

export interface TableInfo {
  name: string;
  bytes: number;
  rows_estimate: number;
  dead_rows_estimate: number;
  last_vacuum_at: string | null;
}

export interface SystemInfo {
  version: string;
  node: string;
  schema: string;
  schema_version: number | string;
  processes: ProcessInfo[];
  queue: Queue | null;
  tables: TableInfo[];
  database_bytes: number;
  retention: Record<string, number | null>;
  config: { path: string; value: Json; about: string }[];
}

export type BulkAction = 'pause' | 'resume' | 'trigger' | 'cancel';

export interface BulkStep {
  matched: number;
  changed: number;
  failed: { id: string; detail: string }[];
  next_cursor: string | null;
}

export interface Deletion {
  deleted_signals: number;
  estimated_signals: number;
}
