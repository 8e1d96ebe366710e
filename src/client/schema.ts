// Generated from the OpenAPI document: npx vitest run test/client/schema.test.ts -u

export interface Accepted {
  accepted: true;
}

export interface ApiKey {
  id: string;
  name: string;
  /** First characters of the key. */
  prefix: string;
  tenant_id: string | null;
  created_at: string;
  created_by: string;
  /** The key that created it. */
  parent_id: string | null;
  /** Accurate to five minutes. */
  last_used_at: string | null;
  revoked_at: string | null;
  scope: 'operator' | 'tenant';
}

export type ApiKeyDetail = ApiKey & {
  /** Number of valid keys created with it, directly or indirectly; at most 10,000. */
  descendants: number;
};

export interface ApiKeyList {
  items: ApiKey[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface AttentionItem {
  cause: 'needs_auth' | 'failing' | 'overdue' | 'too_far_ahead' | 'unserved';
  provider: string | null;
  failure: string | null;
  count: number;
  at_least: boolean;
  since: string | null;
  /** Last error of one affected connection. */
  message: string | null;
  remedy: string;
  /** Filter for `GET /v1/connections` that lists the affected connections. */
  filter: {
    health: 'needs_auth' | 'failing';
    provider: string;
  } | null;
}

export interface AttentionList {
  items: AttentionItem[];
}

export interface AuditEvent {
  id: string;
  at: string;
  kind: string;
  /** Who made the change. */
  actor: string;
  /** The API key used, directly or through a session. */
  key_id: string | null;
  reason: string | null;
  tenant_id: string | null;
  connection_id: string | null;
  job_id: string | null;
  detail: Record<string, unknown> | null;
}

export interface AuditEventList {
  items: AuditEvent[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface Authorization {
  /** Secret of the consent: 256 random bits, the parameter `link` of its page. */
  link: string;
  expires_at: string;
  /** The consent page. */
  authorization_url: string;
}

export interface BudgetStatus {
  key: string;
  /** Provider slug. */
  provider: string;
  /** The limited resource. */
  name: string;
  /** Null if shared by all tenants. */
  tenant_id: string | null;
  credential_id: string | null;
  /** Requests per period. */
  limit: number;
  period_seconds: number;
  /** Requests neither spent nor leased. */
  left: number;
  /** Requests leased to processes, as last reported. */
  leased: number;
  /** When the budget is full again; null if it is full. */
  resets_at: string | null;
  /** When the provider last reported the remaining requests; null if never. */
  learned_at: string | null;
}

export interface BudgetStatusList {
  items: BudgetStatus[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface BulkStep {
  matched: number;
  changed: number;
  failed: {
    id: string;
    detail: string;
  }[];
  /** Cursor of the next step; null after the last match. */
  next_cursor: string | null;
}

export interface Cancelled {
  cancelled: string[];
}

export interface Connection {
  id: string;
  tenant_id: string;
  tenant_name: string | null;
  provider: string;
  provider_name: string | null;
  /** The provider's id of the account. */
  external_id: string | null;
  /** The credential that its runs use; other connections may share it. */
  credential_id: string | null;
  status: 'active' | 'paused' | 'needs_auth' | 'disabled';
  health: 'ok' | 'failing' | 'needs_auth' | 'paused' | 'disabled';
  /** Start of the current series of failed runs. */
  failing_since: string | null;
  /** Kind of the latest failure: rate_limited, unauthorized, permanent, cursor_expired or transient. */
  failure: string | null;
  /** When its deletion started. It is then `disabled` and cannot be changed. */
  deleting_since: string | null;
  /** Expected start of the next run. */
  next_start_at: string | null;
  /** End of its latest incremental job. */
  last_ended_at: string | null;
  /** Null: by interval. */
  schedule: {
    /** Cron expression of five fields. */
    cron?: string | undefined;
    /** Instead of `cron`. */
    times_of_day?: string[] | undefined;
    /** Absent: every day. */
    days_of_week?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[] | undefined;
    /** IANA time zone. */
    time_zone: string;
  } | null;
  /** Connector configuration. */
  config: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  /** Latest runs, newest first; only with `include=recent`. */
  recent?: ({
    job_id: string;
    status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
    ended_at: string;
    duration_ms: number | null;
    signals: number;
  })[] | undefined;
  /** Configured interval; null: the default interval. */
  interval_seconds: number | null;
  /** Effective interval, unless there is a schedule. */
  base_interval_seconds: number;
  /** When the scheduler queues the next job, from its metadata. */
  next_run_at: string | null;
  first_activated_at: string | null;
  last_jitter_seconds: number | null;
  /** Sync cursor of its connector; null before the first run. */
  cursor?: unknown;
  /** Invalid metadata fields; they are ignored. */
  invalid_metadata: {
    field: string;
    value: string;
    expected: string;
  }[];
}

export interface ConnectionChange {
  /** In seconds. */
  interval_seconds?: number | null | undefined;
  schedule?: ScheduleInput & Record<string, unknown> | null | undefined;
  credential_id?: string | null | undefined;
  config?: Record<string, unknown> | undefined;
  /** Reason, stored in the audit log. */
  reason?: string | undefined;
}

export interface ConnectionList {
  items: Connection[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface ConnectionWebhook {
  connection_id: string;
  /** Path of the webhook, to append to the URL of the service. */
  path: string;
  /** Whether the connection has its own secret. */
  exists: boolean;
  created_at: string | null;
  /** Last delivery with a valid signature. Accurate to one minute. */
  last_received_at: string | null;
}

export interface Consumer {
  name: string;
  tenant_id: string | null;
  /** Feed position. */
  after: string;
  moved_at: string;
  created_at: string;
}

export interface ConsumerList {
  items: Consumer[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface Count {
  count: number;
  /** True if counting stopped at `count` and there are more. */
  at_least: boolean;
}

export interface Deletion {
  connection_id: string;
  tenant_id: string;
  state: 'deleting' | 'deleted';
  deleted_signals: number;
  /** Exact up to 100,000, estimated above. */
  estimated_signals: number;
  /** Error of the last batch, which is retried. Only operators see database messages. */
  error: string | null;
  requested_at: string;
  updated_at: string;
  finished_at: string | null;
}

export interface Explanation {
  state: 'paused' | 'needs_auth' | 'disabled' | 'running' | 'backing_off' | 'waiting' | 'unserved' | 'scheduled' | 'unplaced';
  sentence: string;
  next_run_at: string | null;
}

export interface FeedPage {
  items: FeedSignal[];
  /** Cursor to continue from; never null. */
  next_cursor: string;
}

export type FeedSignal = StoredSignal & {
  /** Feed position; pass it as `after` to continue from here. */
  cursor: string;
};

export interface Health {
  status: 'ok';
}

export interface Job {
  id: string;
  tenant_id: string;
  provider: string;
  connection_id: string;
  /** The external id of the connection. */
  connection_name: string | null;
  type: 'incremental' | 'full' | 'webhook';
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  priority: number;
  /** Number of earlier failures. */
  attempts: number;
  scheduled_at: string;
  /** Not claimed before this time. */
  retry_after: string | null;
  started_at: string | null;
  finished_at: string | null;
  /** Number of stored signals. */
  signals: number;
  /** Cursor of this job; null: the cursor of the connection. */
  cursor?: unknown;
  /** Cursor stored by this job. */
  next_cursor?: unknown;
  error: JobError | null;
  /** Queued, but the connection is not active or is running another job. */
  blocked: boolean;
  created_at: string;
  duration_ms: number | null;
}

export type JobDetail = Job & {
  /** Outcome in one sentence. */
  verdict: string;
  runs: Run[];
};

export interface JobError {
  kind: string;
  name: string;
  message: string;
  at: string;
  hint?: string | undefined;
}

export interface JobList {
  items: Job[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface Load {
  minutes: {
    at: string;
    runs: number;
  }[];
  /** Extrapolated from a sample. */
  estimated: boolean;
}

export interface Me {
  scope: 'operator' | 'tenant';
  tenant_id: string | null;
  tenant_name: string | null;
  /** Name in the audit log. */
  actor: string;
  /** Version of the service. */
  version: string;
}

export type NewApiKey = ApiKey & {
  /** The key itself, returned only once. */
  key: string;
};

export type NewConnectionWebhook = ConnectionWebhook & {
  /** The signing secret for the provider, returned only once. */
  secret: string;
};

export interface Overview {
  now: string;
  connections: {
    total: Count;
    ok: Count;
    failing: Count;
    needs_auth: Count;
    paused: Count;
    disabled: Count;
  };
  /** Null for tenant keys. */
  queue: Queue | null;
  last_tick_at: string | null;
  /** An older `last_tick_at` means that scheduling has stopped. */
  max_tick_age_seconds: number;
  executors: {
    alive: number;
    slots: number;
  } | null;
  last_hour: {
    succeeded: number;
    failed: number;
    retried: number;
    signals: number;
  };
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: 'INVALID_ARGUMENT' | 'UNAUTHENTICATED' | 'FORBIDDEN' | 'NOT_FOUND' | 'PROVIDER_NOT_FOUND' | 'CONFLICT' | 'EXPIRED' | 'TOO_LARGE' | 'TOO_MANY' | 'INTERNAL' | 'UNAVAILABLE' | 'OVERLOADED' | 'DATABASE_UNREACHABLE' | 'DATABASE_REFUSED' | 'DATABASE_UNSUITABLE' | 'SCHEMA_MISSING' | 'SCHEMA_OUTDATED' | 'SCHEMA_NEWER' | 'SCHEMA_FOREIGN';
  /** How to fix it. */
  hint?: string | undefined;
  /** Id of an unexpected error in the service log. */
  instance?: string | undefined;
  /** All invalid fields. */
  errors?: ({
    field: string;
    value?: string | undefined;
    message: string;
  })[] | undefined;
}

export interface Provider {
  /** Provider slug. */
  slug: string;
  display_name: string | null;
  auth_type: string | null;
  created_at: string;
  updated_at: string;
}

export interface ProviderList {
  items: Provider[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface Queue {
  due: Count;
  backing_off: Count;
  blocked: Count;
  running: Count;
}

export interface Readiness {
  status: 'ok' | 'unavailable';
  checks: {
    database: boolean;
    schema: boolean;
    last_tick: {
      at: string | null;
      age_seconds: number | null;
      ok: boolean;
    };
  };
}

export interface RepairStep {
  items: ({
    connection_id: string;
    tenant_id: string;
    provider: string;
    /** Null if unchanged. */
    next_run_at: {
      from: string;
      to: string;
    } | null;
    /** Queued jobs that were rescheduled. */
    job_ids: string[];
  })[];
  /** Connections locked by another transaction; call again. */
  skipped: number;
  /** Cursor of the next step; null after the last connection. */
  next_cursor: string | null;
}

export interface Rewind {
  /** Restore the cursor stored by this job. */
  job_id?: string | undefined;
  /** Connector cursor; null: start from the beginning. */
  cursor?: unknown;
  /** Reason, stored in the audit log. */
  reason?: string | undefined;
}

export interface Run {
  number: number;
  outcome: 'succeeded' | 'failed' | 'retried' | 'lost' | 'cancelled' | 'running';
  started_at: string;
  ended_at: string | null;
  error: JobError | null;
  retry_after: string | null;
  /** The connector's first 100 log lines. */
  log: {
    at: string;
    level: string;
    message: string;
    fields: Record<string, unknown>;
  }[];
  duration_ms: number | null;
}

export interface RunWindow {
  earliest: string;
  latest: string;
}

export interface ScheduleInput {
  /** Minute, hour, day, month, weekday. */
  cron?: string | undefined;
  /** `HH:MM`, instead of `cron`. */
  times_of_day?: string[] | undefined;
  /** With `times_of_day`; default: every day. */
  days_of_week?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[] | undefined;
  /** IANA time zone; default: UTC. */
  time_zone?: string | undefined;
}

export interface SchedulePreview {
  /** Status of the job for the first run, if it is already queued. */
  pending: 'queued' | 'running' | null;
  /** Empty while the connection is not active. */
  runs: RunWindow[];
}

export interface Series {
  from: string;
  to: string;
  step_seconds: number;
  points: ({
    succeeded: number;
    failed: number;
    retried: number;
    signals: number;
    at: string;
    lag_p50_ms: number | null;
    lag_p95_ms: number | null;
    freshness_p50_seconds: number | null;
    freshness_p95_seconds: number | null;
  })[];
}

export interface StoredCredential {
  id: string;
  tenant_id: string;
  provider: string;
  name: string | null;
  kind: 'api_key' | 'basic' | 'oauth2' | 'custom';
  /** Number of changes of the secret. */
  generation: number;
  /** Expiry of the access token. */
  expires_at: string | null;
  /** Since when the provider refuses to refresh it. */
  refused_at: string | null;
  refused_reason: string | null;
  refreshed_at: string | null;
  /** Number of connections that use it; 1000 means 1000 or more. */
  connections: number;
  created_at: string;
  updated_at: string;
}

export interface StoredCredentialList {
  items: StoredCredential[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface StoredCursor {
  job_id: string;
  at: string;
  /** The cursor returned by the connector. */
  cursor?: unknown;
  /** Whether it is the connection's current cursor. */
  current: boolean;
}

export interface StoredCursorList {
  items: StoredCursor[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface StoredSignal {
  id: string;
  tenant_id: string;
  provider: string;
  connection_id: string;
  /** The external id of the connection. */
  connection_name: string | null;
  /** The job that stored the signal. */
  job_id: string | null;
  kind: string;
  occurred_at: string;
  received_at: string;
  dedupe_key: string | null;
  /** The payload returned by the connector; absent from lists without payloads. */
  payload?: unknown;
}

export interface StoredSignalList {
  items: StoredSignal[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface SystemInfo {
  node: string;
  schema: string;
  schema_version: number;
  processes: ({
    id: string;
    host: string | null;
    pid: number | null;
    roles: ('executor' | 'scheduler')[];
    concurrency: number | null;
    providers: string[];
    started_at: string;
    expires_at: string | null;
    /** Last tick of a scheduler. */
    ticked_at: string | null;
    alive: boolean;
    running: number;
    /** Clock difference to the database; positive: ahead. */
    clock_skew_seconds: number;
  })[];
  queue: Queue;
  tables: ({
    name: string;
    bytes: number;
    rows_estimate: number;
    dead_rows_estimate: number;
    last_vacuum_at: string | null;
  })[];
  database_bytes: number;
  retention: {
    ended_jobs_days: number;
    events_days: number;
    signals_days: number;
    stats_days: number;
  };
  /** Effective values; secrets are masked. */
  config: {
    path: string;
    value: string;
    about: string;
  }[];
  version: string;
}

export interface Tenant {
  id: string;
  name: string | null;
  created_at: string;
}

export interface TenantList {
  items: Tenant[];
  /** Cursor of the next page; null on the last one. A page may be short or empty and have a next one. */
  next_cursor: string | null;
}

export interface TriggerResult {
  /** The queued job; with `follows`, the running job. */
  job_id: string;
  /** `queued`: a new job. `brought_forward`: its queued job is due now. `follows`: a later rerun. */
  effect: 'queued' | 'brought_forward' | 'follows';
}

export interface Paths {
  '/healthz': {
    /** Liveness check */
    get: {
      response: Health;
    };
  };
  '/readyz': {
    /** Readiness check */
    get: {
      response: Readiness;
    };
  };
  '/v1/session': {
    /** Log in with an API key */
    post: {
      body: {
        key: string;
      };
      response: Me;
    };
    /** Log out */
    delete: {
      response: undefined;
    };
  };
  '/v1/me': {
    /** Show the caller */
    get: {
      response: Me;
    };
  };
  '/v1/tenants': {
    /** List tenants */
    get: {
      query?: {
        /** An id, or a prefix of a name. */
        search?: string | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: TenantList;
    };
    /** Create a tenant */
    post: {
      body: {
        name: string;
      };
      response: Tenant;
    };
  };
  '/v1/tenants/{id}': {
    /** Show a tenant */
    get: {
      path: {
        id: string;
      };
      response: Tenant;
    };
  };
  '/v1/providers': {
    /** List providers */
    get: {
      query?: {
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: ProviderList;
    };
  };
  '/v1/providers/{slug}': {
    /** Register or change a provider */
    put: {
      path: {
        /** Provider slug. */
        slug: string;
      };
      body?: {
        display_name?: string | undefined;
        auth_type?: string | undefined;
      } | undefined;
      response: Provider;
    };
  };
  '/v1/connections': {
    /** List connections */
    get: {
      query?: {
        tenant_id?: string | undefined;
        /** Provider slug. */
        provider?: string | undefined;
        status?: 'active' | 'paused' | 'needs_auth' | 'disabled' | undefined;
        health?: 'ok' | 'failing' | 'needs_auth' | 'paused' | 'disabled' | undefined;
        /** An id, or a prefix of an external id. */
        search?: string | undefined;
        /** `recent`: include the latest runs. */
        include?: 'recent' | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: ConnectionList;
    };
    /** Create a connection */
    post: {
      body: {
        tenant_id?: string | undefined;
        /** Creates a tenant, instead of `tenant_id`. Operators only. */
        tenant_name?: string | undefined;
        /** Provider slug. */
        provider: string;
        /** The provider's id of the account. */
        external_id?: string | undefined;
        /** A credential of the same tenant and provider. */
        credential_id?: string | undefined;
        /** In seconds. */
        interval_seconds?: number | undefined;
        schedule?: ScheduleInput | undefined;
        /** Connector configuration. */
        config?: Record<string, unknown> | undefined;
        /** Free-form; the key `sync` is reserved for the engine. */
        metadata?: Record<string, unknown> | undefined;
      };
      response: Connection;
    };
  };
  '/v1/connections/{id}': {
    /** Show a connection */
    get: {
      path: {
        id: string;
      };
      response: Connection;
    };
    /** Change the interval, schedule, credential or config */
    patch: {
      path: {
        id: string;
      };
      body: ConnectionChange;
      response: Connection;
    };
    /** Delete a connection */
    delete: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: Deletion | undefined;
    };
  };
  '/v1/connections/{id}/deletion': {
    /** Show the progress of a deletion */
    get: {
      path: {
        id: string;
      };
      response: Deletion;
    };
  };
  '/v1/connections/{id}/why': {
    /** Explain the state of a connection */
    get: {
      path: {
        id: string;
      };
      response: Explanation;
    };
  };
  '/v1/connections/{id}/schedule': {
    /** Preview the next runs */
    get: {
      path: {
        id: string;
      };
      query?: {
        runs?: number | undefined;
      } | undefined;
      response: SchedulePreview;
    };
  };
  '/v1/connections/{id}/cursors': {
    /** List stored cursors */
    get: {
      path: {
        id: string;
      };
      query?: {
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: StoredCursorList;
    };
  };
  '/v1/connections/{id}/pause': {
    /** Pause a connection */
    post: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: Connection;
    };
  };
  '/v1/connections/{id}/resume': {
    /** Resume a connection */
    post: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: Connection;
    };
  };
  '/v1/connections/{id}/trigger': {
    /** Sync now */
    post: {
      path: {
        id: string;
      };
      body?: {
        type?: 'incremental' | 'full' | 'webhook' | undefined;
        /** Higher runs first. Default 10; a tenant key may use at most 10 (403 above it). */
        priority?: number | undefined;
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: TriggerResult;
    };
  };
  '/v1/connections/{id}/cancel': {
    /** Cancel queued and running jobs */
    post: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: Cancelled;
    };
  };
  '/v1/connections/{id}/rewind': {
    /** Rewind the cursor */
    post: {
      path: {
        id: string;
      };
      body: Rewind;
      response: Connection;
    };
  };
  '/v1/connections/repair-schedule': {
    /** Repair times too far in the future */
    post: {
      body?: {
        /** Only report what would change. */
        dry_run?: boolean | undefined;
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
        limit?: number | undefined;
        cursor?: string | undefined;
      } | undefined;
      response: RepairStep;
    };
  };
  '/v1/connections/bulk': {
    /** Apply an action to many connections */
    post: {
      body: {
        action: 'pause' | 'resume' | 'trigger' | 'cancel' | 'delete';
        filter: {
          tenant_id?: string | undefined;
          /** Provider slug. */
          provider?: string | undefined;
          status?: 'active' | 'paused' | 'needs_auth' | 'disabled' | undefined;
          health?: 'ok' | 'failing' | 'needs_auth' | 'paused' | 'disabled' | undefined;
          /** An id, or a prefix of an external id. */
          search?: string | undefined;
        };
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
        limit?: number | undefined;
        cursor?: string | undefined;
      };
      response: BulkStep;
    };
  };
  '/v1/connections/{id}/webhook': {
    /** Show the webhook of a connection */
    get: {
      path: {
        id: string;
      };
      response: ConnectionWebhook;
    };
    /** Create or replace the webhook of a connection */
    put: {
      path: {
        id: string;
      };
      body?: {
        /** The secret, if the provider generated it. */
        secret?: string | undefined;
      } | undefined;
      response: NewConnectionWebhook;
    };
    /** Delete the webhook of a connection */
    delete: {
      path: {
        id: string;
      };
      response: undefined;
    };
  };
  '/v1/connections/authorize': {
    /** Create an authorization link */
    post: {
      body: {
        connection_id: string;
        /** Where to redirect afterwards: at this origin or one of `server.returnOrigins`. Adds `connection_id`, `status` (`authorized` or `failed`) and `error` to the query. */
        return_to?: string | undefined;
      };
      response: Authorization;
    };
  };
  '/v1/credentials': {
    /** List credentials */
    get: {
      query?: {
        tenant_id?: string | undefined;
        /** Provider slug. */
        provider?: string | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: StoredCredentialList;
    };
    /** Store a credential */
    post: {
      body: {
        tenant_id: string;
        /** Provider slug. */
        provider: string;
        /** Display name. */
        name?: string | undefined;
        secret: {
          type: 'api_key';
          key: string;
        } | {
          type: 'basic';
          username: string;
          password: string;
        } | {
          type: 'oauth2';
          access_token: string;
          refresh_token?: string | undefined;
          expires_at?: string | undefined;
          scope?: string | undefined;
        } | {
          type: 'custom';
          fields: Record<string, unknown>;
        };
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      };
      response: StoredCredential;
    };
  };
  '/v1/credentials/{id}': {
    /** Show a credential */
    get: {
      path: {
        id: string;
      };
      response: StoredCredential;
    };
    /** Replace the secret of a credential */
    put: {
      path: {
        id: string;
      };
      body: {
        secret: {
          type: 'api_key';
          key: string;
        } | {
          type: 'basic';
          username: string;
          password: string;
        } | {
          type: 'oauth2';
          access_token: string;
          refresh_token?: string | undefined;
          expires_at?: string | undefined;
          scope?: string | undefined;
        } | {
          type: 'custom';
          fields: Record<string, unknown>;
        };
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      };
      response: StoredCredential;
    };
    /** Delete a credential */
    delete: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: undefined;
    };
  };
  '/v1/jobs': {
    /** List jobs */
    get: {
      query?: {
        status?: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | undefined;
        /** Provider slug. */
        provider?: string | undefined;
        connection_id?: string | undefined;
        tenant_id?: string | undefined;
        type?: 'incremental' | 'full' | 'webhook' | undefined;
        /** Created at or after this time. */
        since?: string | undefined;
        /** Created before this time. */
        until?: string | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: JobList;
    };
  };
  '/v1/jobs/{id}': {
    /** Show a job */
    get: {
      path: {
        id: string;
      };
      response: JobDetail;
    };
  };
  '/v1/jobs/{id}/cancel': {
    /** Cancel a job */
    post: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: Job;
    };
  };
  '/v1/jobs/{id}/retry': {
    /** Run a job again */
    post: {
      path: {
        id: string;
      };
      body?: {
        /** Reason, stored in the audit log. */
        reason?: string | undefined;
      } | undefined;
      response: Job;
    };
  };
  '/v1/signals/feed': {
    /** Read the feed */
    get: {
      query?: {
        /** A feed cursor, `beginning` or `latest`. */
        after?: string | undefined;
        /** Continue from the position of this consumer. */
        consumer?: string | undefined;
        /** Long-poll timeout in seconds. */
        wait?: number | undefined;
        /** Include payloads. */
        payload?: boolean | undefined;
        /** Provider slug. */
        provider?: string | undefined;
        kind?: string | undefined;
        connection_id?: string | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
      } | undefined;
      response: FeedPage;
    };
  };
  '/v1/signals': {
    /** List signals */
    get: {
      query?: {
        connection_id?: string | undefined;
        /** Provider slug. */
        provider?: string | undefined;
        kind?: string | undefined;
        tenant_id?: string | undefined;
        job_id?: string | undefined;
        /** Received at or after this time. */
        since?: string | undefined;
        /** Received before this time. */
        until?: string | undefined;
        /** Include payloads. */
        payload?: boolean | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: StoredSignalList;
    };
  };
  '/v1/signals/{id}': {
    /** Show a signal */
    get: {
      path: {
        id: string;
      };
      response: StoredSignal;
    };
  };
  '/v1/consumers': {
    /** List consumers */
    get: {
      query?: {
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: ConsumerList;
    };
  };
  '/v1/consumers/{name}': {
    /** Show a consumer */
    get: {
      path: {
        name: string;
      };
      response: Consumer;
    };
    /** Create or move a consumer */
    put: {
      path: {
        name: string;
      };
      body: {
        /** A feed cursor, `beginning` or `latest`. */
        after: string;
      };
      response: Consumer;
    };
    /** Delete a consumer */
    delete: {
      path: {
        name: string;
      };
      response: undefined;
    };
  };
  '/v1/stats': {
    /** Overview */
    get: {
      response: Overview;
    };
  };
  '/v1/stats/series': {
    /** Time series */
    get: {
      query?: {
        /** Length of the series. */
        minutes?: number | undefined;
        /** Provider slug. */
        provider?: string | undefined;
      } | undefined;
      response: Series;
    };
  };
  '/v1/stats/load': {
    /** Upcoming load */
    get: {
      response: Load;
    };
  };
  '/v1/stats/attention': {
    /** Problems that need attention */
    get: {
      response: AttentionList;
    };
  };
  '/v1/budgets': {
    /** List budgets */
    get: {
      query?: {
        /** Provider slug. */
        provider?: string | undefined;
        credential_id?: string | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: BudgetStatusList;
    };
  };
  '/v1/audit': {
    /** List audit events */
    get: {
      query?: {
        connection_id?: string | undefined;
        tenant_id?: string | undefined;
        /** Only events of this API key. */
        key_id?: string | undefined;
        kind?: string | undefined;
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: AuditEventList;
    };
  };
  '/v1/keys': {
    /** List API keys */
    get: {
      query?: {
        /** Maximum number of items per page. */
        limit?: number | undefined;
        /** `next_cursor` of the previous page. */
        cursor?: string | undefined;
      } | undefined;
      response: ApiKeyList;
    };
    /** Create an API key */
    post: {
      body: {
        name: string;
        /** Tenant of the key; null or absent: an operator key. */
        tenant_id?: string | null | undefined;
      };
      response: NewApiKey;
    };
  };
  '/v1/keys/{id}': {
    /** Show an API key */
    get: {
      path: {
        id: string;
      };
      response: ApiKeyDetail;
    };
    /** Revoke an API key */
    delete: {
      path: {
        id: string;
      };
      query?: {
        /** Also revoke all keys created with it. */
        descendants?: 'true' | 'false' | undefined;
      } | undefined;
      response: undefined;
    };
  };
  '/v1/system': {
    /** Show the system */
    get: {
      response: SystemInfo;
    };
  };
}
