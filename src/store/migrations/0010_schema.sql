-- `syncline migrate` sets search_path. `-- 0012: …` names the later file that changes an object.

---------------------------------------------------------------------------------------------------------
-- Functions that columns use
---------------------------------------------------------------------------------------------------------

-- UUID version 7: ids of every writer sort by time.
CREATE FUNCTION time_ordered_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(set_bit(set_bit(overlay(
    uuid_send(gen_random_uuid())
    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
  ), 52, 1), 53, 1), 'hex')::uuid
$$;

-- metadata.sync.next_run_at of any writer; null unless an ISO-8601 instant with offset, which makes it
-- independent of session settings, hence IMMUTABLE. translate takes 2 µs per write, a regular expression 8.
-- The cast rejects days that a month lacks.
CREATE FUNCTION parse_instant(value text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  shape text := pg_catalog.translate(value, '123456789', '000000000');
BEGIN
  IF pg_catalog.left(shape, 19) = '0000-00-00T00:00:00'
    AND pg_catalog.substr(shape, 20) IN (
      'Z', '.0Z', '.00Z', '.000Z', '.0000Z',
      '.00000Z', '.000000Z', '.0000000Z', '.00000000Z', '.000000000Z',
      '+00:00', '.0+00:00', '.00+00:00', '.000+00:00', '.0000+00:00',
      '.00000+00:00', '.000000+00:00', '.0000000+00:00', '.00000000+00:00', '.000000000+00:00',
      '-00:00', '.0-00:00', '.00-00:00', '.000-00:00', '.0000-00:00',
      '.00000-00:00', '.000000-00:00', '.0000000-00:00', '.00000000-00:00', '.000000000-00:00')
    -- Postgres would accept 24:00:00 and second 60.
    AND pg_catalog.substr(value, 12, 2) COLLATE "C" < '24'
    AND pg_catalog.substr(value, 18, 2) COLLATE "C" < '60'
  THEN
    RETURN value::pg_catalog.timestamptz;
  END IF;
  RETURN NULL;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;

-- Sets keys of metadata.sync, keeps all others, replaces non-objects. store/connections.ts also removes keys
-- (`#-`).
CREATE FUNCTION patch_sync(metadata jsonb, patch jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(metadata -> 'sync') = 'object'
      THEN jsonb_set(metadata, '{sync}', (metadata -> 'sync') || patch)
    WHEN jsonb_typeof(metadata) = 'object' THEN jsonb_set(metadata, '{sync}', patch)
    -- jsonb_build_object is only stable, which would prevent inlining.
    ELSE jsonb_set('{}', '{sync}', patch)
  END
$$;

-- Created on first use in a transaction. Parsed here: the caller's search_path does not matter.
CREATE FUNCTION signal_batch() RETURNS uuid LANGUAGE sql VOLATILE
BEGIN ATOMIC
  SELECT coalesce(
    nullif(current_setting('syncline.batch', true), ''),
    set_config('syncline.batch', time_ordered_id()::text, true))::uuid;
END;

---------------------------------------------------------------------------------------------------------
-- Tenants, providers, credentials, connections
---------------------------------------------------------------------------------------------------------

CREATE TABLE tenants (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  name text,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- Search by prefix.
CREATE INDEX idx_tenants_name ON tenants (lower(name) text_pattern_ops);

CREATE TABLE providers (
  slug text PRIMARY KEY,
  display_name text,
  auth_type text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Encrypted. Connections of a tenant may share one.
CREATE TABLE credentials (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  provider_slug text NOT NULL REFERENCES providers (slug),
  name text,
  kind text NOT NULL CHECK (kind IN ('api_key', 'basic', 'oauth2', 'custom')),
  -- AES-256-GCM: nonce, ciphertext and tag. Authenticates table, tenant and id.
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  -- For compare-and-set: every write increments it.
  generation integer NOT NULL DEFAULT 1,
  -- Of the access token.
  expires_at timestamptz,
  -- The provider rejected the refresh: no retry until replaced.
  refused_at timestamptz,
  refused_reason text,
  refreshed_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- For the foreign key of connections.
  UNIQUE (tenant_id, id)
);

CREATE TABLE connections (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  -- 0016: without the foreign key.
  tenant_id uuid NOT NULL REFERENCES tenants (id),
  provider_slug text NOT NULL REFERENCES providers (slug),
  external_id text,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'needs_auth', 'disabled')),
  -- metadata.sync is the scheduler's; other keys are the user's.
  metadata jsonb DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Of the latest incremental job; outlives it.
  last_incremental_ended_at timestamptz,
  -- Due, but its incremental job must end first: not in idx_connections_due, where every tick would read it.
  -- Triggers on sync_jobs clear it.
  waits_for_job boolean NOT NULL DEFAULT false,
  -- metadata.sync.next_run_at, indexable; absent or invalid means due now. 0012: a plain column.
  due_at timestamptz NOT NULL GENERATED ALWAYS AS (
    coalesce(parse_instant(metadata #>> '{sync,next_run_at}'), '-infinity')
  ) STORED,
  config jsonb NOT NULL DEFAULT '{}',
  -- Null while runs succeed.
  failing_since timestamptz,
  failure text,
  credential_id uuid,
  -- EXE-9: up to five process deaths during its runs, latest last; null after a run ends. Outlives the job:
  -- the next one continues the count.
  losses jsonb,
  -- Then `disabled`, and no operation accepts it.
  deleting_since timestamptz,
  -- A connection cannot use another tenant's credential.
  CONSTRAINT connections_credential FOREIGN KEY (tenant_id, credential_id)
    REFERENCES credentials (tenant_id, id)
-- Free space keeps updates of unindexed columns (the cursor) HOT.
) WITH (fillfactor = 85);

-- Ticks. By id, a tick continues after the last connection taken, not over the same dead entries.
CREATE INDEX idx_connections_due ON connections (due_at, id) WHERE status = 'active' AND NOT waits_for_job;
-- Only for list filters too rare for a page's row limit: a placement writes every index of connections, a run
-- every index of sync_jobs three times. 0016: both on connection_lookup.
CREATE INDEX idx_connections_tenant ON connections (tenant_id, id);
CREATE INDEX idx_connections_external ON connections (external_id text_pattern_ops)
  WHERE external_id IS NOT NULL;
-- Lists by status; problems.
CREATE INDEX idx_connections_inactive ON connections (status, id) WHERE status <> 'active';
CREATE INDEX idx_connections_failing ON connections (id) WHERE failing_since IS NOT NULL;
-- Connections of a credential.
CREATE INDEX idx_connections_credential ON connections (credential_id) WHERE credential_id IS NOT NULL;
-- Reaper and doctor. Almost always empty; writes that keep losses stay HOT.
CREATE INDEX idx_connections_losses ON connections (id) WHERE losses IS NOT NULL;

---------------------------------------------------------------------------------------------------------
-- Jobs
---------------------------------------------------------------------------------------------------------

-- One run, or the wait for it. No foreign keys on tenant_id and provider_slug: the checks would cost more
-- than the insert.
CREATE TABLE sync_jobs (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  -- 0013: triggers replace the foreign key.
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  job_type text NOT NULL CHECK (job_type IN ('incremental', 'full', 'webhook')),
  -- 'completed': older word for 'succeeded', never written.
  status text NOT NULL DEFAULT 'queued'
    CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'completed')),
  priority smallint NOT NULL DEFAULT 0,
  -- Earlier failures.
  attempts integer NOT NULL DEFAULT 0,
  scheduled_at timestamptz NOT NULL DEFAULT now(),
  -- In backoff.
  retry_after timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  -- Null: the connection's cursor.
  cursor jsonb,
  error jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Null unless a Syncline process runs it.
  process_id uuid,
  -- The fencing token: a run writes only under its claim.
  claim_id uuid,
  -- Triggered again while running: priority of the next job.
  rerun_priority smallint,
  -- The connection is inactive or runs another job: not in the claim indexes, where every claim would read
  -- it.
  blocked boolean NOT NULL DEFAULT false,
  -- The jobs of a connection are its cursor history.
  signal_count integer NOT NULL DEFAULT 0,
  next_cursor jsonb,
  -- A hint that this walk may miss: another run follows. Cleared by the claim of a job without its own
  -- cursor, which starts after the hint.
  hinted boolean NOT NULL DEFAULT false
);

-- DB-1: one pending job per connection and type.
CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs (connection_id, job_type)
  WHERE status IN ('queued','running');
-- EXE-3: single flight, for every writer.
CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs (connection_id) WHERE status = 'running';
-- Claims, in order. Jobs in backoff are in the second index; after retry_after, set to null, in the first.
CREATE INDEX idx_sync_jobs_ready ON sync_jobs (provider_slug, priority, scheduled_at)
  WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL;
CREATE INDEX idx_sync_jobs_retry ON sync_jobs (provider_slug, retry_after)
  WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL;
-- Read when a job ends. Almost always empty.
CREATE INDEX idx_sync_jobs_blocked ON sync_jobs (connection_id) WHERE status = 'queued' AND blocked;
-- Jobs of a connection, also for its deletion. 0017: of ended jobs.
CREATE INDEX idx_sync_jobs_history ON sync_jobs (connection_id, coalesce(finished_at, updated_at));
-- The janitor's.
CREATE INDEX idx_sync_jobs_ended ON sync_jobs (coalesce(finished_at, updated_at))
  WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed');
-- Jobs of a tenant. 0017: of ended jobs.
CREATE INDEX idx_sync_jobs_tenant ON sync_jobs (tenant_id, id);
-- Failed jobs.
CREATE INDEX idx_sync_jobs_failed ON sync_jobs (id) WHERE status = 'failed';
CREATE INDEX idx_sync_jobs_failed_tenant ON sync_jobs (tenant_id, id) WHERE status = 'failed';

-- Earlier runs, and those whose connector logged. Other successful runs cost no row.
CREATE TABLE attempts (
  job_id uuid NOT NULL,
  claim_id uuid NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'retried', 'lost')),
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  retry_after timestamptz,
  error jsonb,
  log jsonb,
  PRIMARY KEY (job_id, claim_id)
);

---------------------------------------------------------------------------------------------------------
-- Signals and their feed
---------------------------------------------------------------------------------------------------------

CREATE TABLE signals (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  -- 0013: triggers replace the foreign key.
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  kind text NOT NULL,
  occurred_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  payload jsonb NOT NULL,
  dedupe_key text,
  created_at timestamptz NOT NULL DEFAULT now(),
  job_id uuid,
  -- Its transaction, a row in feed.
  batch uuid NOT NULL DEFAULT signal_batch()
);
-- EXE-5: absorbs known dedupe keys.
CREATE UNIQUE INDEX idx_signals_dedupe ON signals (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL;
-- Signals of a connection, of a tenant, of a feed batch.
CREATE INDEX idx_signals_connection ON signals (connection_id, received_at);
CREATE INDEX idx_signals_tenant ON signals (tenant_id, id);
CREATE INDEX idx_signals_batch ON signals (batch, tenant_id, id);

-- Batches in commit order: a deferred trigger draws the position. A missing one is committing or rolled back.
CREATE SEQUENCE feed_position;
CREATE TABLE feed (
  batch uuid PRIMARY KEY,
  position bigint,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- The feed in order.
CREATE UNIQUE INDEX idx_feed_position ON feed (position) WHERE position IS NOT NULL;
-- A batch without signals.
INSERT INTO feed (batch, position)
VALUES ('00000000-0000-0000-0000-000000000000', nextval('feed_position'));

-- One row: up to where the feed is deleted.
CREATE TABLE feed_start (
  position bigint NOT NULL,
  -- Outlives its row: cursors at that position are compared with it.
  batch uuid,
  -- Counts sequence repairs.
  epoch integer NOT NULL DEFAULT 1
);
INSERT INTO feed_start (position) VALUES (0);

-- Named readers. The all-zero tenant is the operator.
CREATE TABLE consumers (
  tenant_id uuid NOT NULL,
  name text NOT NULL,
  after text NOT NULL,
  -- The latest reader; an older one's next call fails with CONFLICT.
  reader uuid,
  created_at timestamptz NOT NULL,
  moved_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

---------------------------------------------------------------------------------------------------------
-- Processes and statistics
---------------------------------------------------------------------------------------------------------

-- Leases of executors.
CREATE TABLE processes (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  concurrency integer NOT NULL,
  -- Those it has connectors for.
  providers text[] NOT NULL,
  started_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- Positive: ahead of the database at the last heartbeat.
  clock_skew_seconds integer NOT NULL DEFAULT 0,
  -- The process stops or has a new id: no crash.
  released boolean NOT NULL DEFAULT false
);

-- Schedulers need no lease.
CREATE TABLE schedulers (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL,
  ticked_at timestamptz NOT NULL,
  tick_ms integer NOT NULL,
  scheduled integer NOT NULL,
  clock_skew_seconds integer NOT NULL DEFAULT 0
);

-- The all-zero tenant has the totals. A random `slot`, summed by readers: concurrent commits wait for no
-- row. Histograms: lag_… start delays, age_… data ages at renewal.
CREATE TABLE rollups (
  tenant_id uuid NOT NULL,
  minute timestamptz NOT NULL,
  provider_slug text NOT NULL,
  slot smallint NOT NULL,
  succeeded integer NOT NULL, failed integer NOT NULL, retried integer NOT NULL, signals integer NOT NULL,
  lag_0 integer NOT NULL, lag_1 integer NOT NULL, lag_2 integer NOT NULL, lag_3 integer NOT NULL,
  lag_4 integer NOT NULL, lag_5 integer NOT NULL, lag_6 integer NOT NULL, lag_7 integer NOT NULL,
  lag_8 integer NOT NULL, lag_9 integer NOT NULL, lag_10 integer NOT NULL, lag_11 integer NOT NULL,
  age_0 integer NOT NULL, age_1 integer NOT NULL, age_2 integer NOT NULL, age_3 integer NOT NULL,
  age_4 integer NOT NULL, age_5 integer NOT NULL, age_6 integer NOT NULL, age_7 integer NOT NULL,
  age_8 integer NOT NULL, age_9 integer NOT NULL, age_10 integer NOT NULL, age_11 integer NOT NULL,
  PRIMARY KEY (tenant_id, minute, provider_slug, slot)
-- Free space keeps the many updates of a minute HOT.
) WITH (fillfactor = 50);
-- The janitor merges minutes into hours after a day, with slot -1.
CREATE INDEX idx_rollups_hours ON rollups (minute) WHERE slot < 0;
CREATE INDEX idx_rollups_fine ON rollups (minute) WHERE slot >= 0;

---------------------------------------------------------------------------------------------------------
-- Callers: keys, sessions, the audit log, deletions
---------------------------------------------------------------------------------------------------------

-- Random, so a plain hash suffices. Without a tenant: the operator's.
CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  tenant_id uuid REFERENCES tenants (id) ON DELETE CASCADE,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  last_used_at timestamptz,
  revoked_at timestamptz,
  parent_id uuid REFERENCES api_keys (id) ON DELETE SET NULL
);
-- Lists.
CREATE INDEX idx_api_keys_tenant ON api_keys (tenant_id, id);
-- Revoking descendants of a leaked key.
CREATE INDEX idx_api_keys_parent ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
-- Events name keys: valid keys of an owner have distinct names.
CREATE UNIQUE INDEX idx_api_keys_name ON api_keys (tenant_id, name) NULLS NOT DISTINCT
  WHERE revoked_at IS NULL;

-- Of the dashboard. Without a key: by a process's one-time token.
CREATE TABLE sessions (
  hash bytea PRIMARY KEY,
  key_id uuid REFERENCES api_keys (id) ON DELETE CASCADE,
  actor text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
-- Deleting expired sessions, and those of revoked keys.
CREATE INDEX idx_sessions_expires ON sessions (expires_at);
CREATE INDEX idx_sessions_key ON sessions (key_id) WHERE key_id IS NOT NULL;

-- The audit log. Rows outlive what they name: no foreign keys.
CREATE TABLE events (
  id uuid PRIMARY KEY,
  tenant_id uuid,
  connection_id uuid,
  job_id uuid,
  kind text NOT NULL,
  actor text NOT NULL,
  reason text,
  created_at timestamptz NOT NULL,
  detail jsonb,
  key_id uuid
);
-- The audit log of a connection, a tenant, a key.
CREATE INDEX idx_events_connection ON events (connection_id, id);
CREATE INDEX idx_events_tenant ON events (tenant_id, id);
CREATE INDEX idx_events_key ON events (key_id, id) WHERE key_id IS NOT NULL;
-- The janitor's.
CREATE INDEX idx_events_created ON events (created_at);

-- Background deletions. No foreign key: the row outlives its connection by a week.
CREATE TABLE deletions (
  connection_id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  external_id text,
  actor text NOT NULL,
  key_id uuid,
  reason text,
  estimated_signals bigint NOT NULL,
  deleted_signals bigint NOT NULL DEFAULT 0,
  -- Of the last batch; retried after 5 s.
  error text,
  requested_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  finished_at timestamptz
);
-- Longest wait first: a large one must not hold up others.
CREATE INDEX idx_deletions_open ON deletions (updated_at) WHERE finished_at IS NULL;
-- The janitor's.
CREATE INDEX idx_deletions_finished ON deletions (finished_at) WHERE finished_at IS NOT NULL;

---------------------------------------------------------------------------------------------------------
-- Providers' side: consent, rate limits, webhooks
---------------------------------------------------------------------------------------------------------

-- `state` hashes the link to the consent page; continuing there stores hashes of the provider's state and of
-- a secret of that browser.
CREATE TABLE authorizations (
  state bytea PRIMARY KEY,
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  tenant_id uuid NOT NULL,
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  provider_state bytea UNIQUE,
  browser bytea
);
-- Deleting expired ones, and the limit per connection.
CREATE INDEX idx_authorizations_expires ON authorizations (expires_at);
CREATE INDEX idx_authorizations_connection ON authorizations (connection_id);

-- Rate limits of all processes, leased in blocks and refilled per window. Available: most - spent - drift -
-- leased - carried.
CREATE TABLE budgets (
  key text COLLATE "C" PRIMARY KEY,
  -- Null: shared by all tenants.
  tenant_id uuid,
  provider_slug text NOT NULL,
  -- No foreign key: the row may outlive its credential.
  credential_id uuid,
  name text NOT NULL,
  most integer NOT NULL CHECK (most > 0),
  -- Declared by the connector; the provider's statement takes precedence.
  stated integer NOT NULL,
  period_seconds integer NOT NULL CHECK (period_seconds > 0),
  -- Identifies the window of tokens that are returned late.
  window_number bigint NOT NULL DEFAULT 1,
  -- Requests reported by processes.
  spent integer NOT NULL DEFAULT 0,
  -- What the provider counts beyond it: other clients, unreported requests.
  drift integer NOT NULL DEFAULT 0,
  -- Taken by processes, not yet reported.
  leased integer NOT NULL DEFAULT 0,
  -- `leased` of the previous window; may count in this one.
  carried integer NOT NULL DEFAULT 0,
  opened_at timestamptz NOT NULL,
  -- Tokens are valid until resets_at; the next window may begin at opens_at.
  resets_at timestamptz NOT NULL,
  opens_at timestamptz NOT NULL,
  learned_at timestamptz
) WITH (fillfactor = 50);
-- Lists.
CREATE INDEX idx_budgets_tenant ON budgets (tenant_id, key);
CREATE INDEX idx_budgets_credential ON budgets (credential_id, key);
-- The janitor's. Changes once per window: other updates stay HOT.
CREATE INDEX idx_budgets_resets ON budgets (resets_at);

-- Secrets with which providers sign deliveries.
CREATE TABLE webhooks (
  connection_id uuid PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
  tenant_id uuid NOT NULL,
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  last_received_at timestamptz
);

---------------------------------------------------------------------------------------------------------
-- Triggers on sync_jobs: what the end of a job means for its connection
--
-- The engine's claims, commits and placements do the same and turn `syncline.triggers` off (decision 13).
---------------------------------------------------------------------------------------------------------

-- Locks the connections first: a concurrent scheduler that sets waits_for_job has committed, and is corrected
-- here, or reads the ended job later. Arrays instead of joins: one plan for one job and a million.
CREATE FUNCTION release_connections(ids uuid[], ended_at timestamptz[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM FROM connections WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE;
  UPDATE connections c
  SET waits_for_job = false,
      last_incremental_ended_at = greatest(c.last_incremental_ended_at, released.ended_at)
  FROM unnest(ids, ended_at) AS released (id, ended_at)
  WHERE c.id = ANY (ids) AND c.id = released.id
    AND (c.waits_for_job
      OR c.last_incremental_ended_at IS DISTINCT FROM
        greatest(c.last_incremental_ended_at, released.ended_at));
END $$;

-- A job inserted as ended counts as a run.
CREATE FUNCTION after_sync_jobs_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM release_connections(array_agg(connection_id), array_agg(ended_at))
  FROM (
    SELECT connection_id, max(coalesce(finished_at, updated_at)) AS ended_at FROM new_jobs
    WHERE job_type = 'incremental' AND status NOT IN ('queued', 'running')
      AND isfinite(coalesce(finished_at, updated_at))
    GROUP BY connection_id
  ) ended
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

-- An ended job is the last run; without a pending one, its connection may be scheduled.
CREATE FUNCTION after_sync_jobs_update() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM release_connections(array_agg(connection_id), array_agg(ended_at))
  FROM (
    SELECT connection_id, max(ended_at) AS ended_at FROM (
      (SELECT connection_id, NULL::timestamptz AS ended_at FROM old_jobs
       WHERE job_type = 'incremental' AND status IN ('queued', 'running')
       EXCEPT
       SELECT connection_id, NULL FROM new_jobs
       WHERE job_type = 'incremental' AND status IN ('queued', 'running'))
      UNION ALL
      SELECT connection_id, coalesce(finished_at, updated_at) FROM new_jobs
      WHERE job_type = 'incremental' AND status NOT IN ('queued', 'running')
        AND isfinite(coalesce(finished_at, updated_at))
    ) left_pending
    GROUP BY connection_id
  ) released
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION after_sync_jobs_delete() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM release_connections(array_agg(connection_id), array_agg(NULL::timestamptz))
  FROM old_jobs WHERE job_type = 'incremental' AND status IN ('queued', 'running')
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION after_sync_jobs_truncate() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE connections SET waits_for_job = false WHERE waits_for_job;
  RETURN NULL;
END $$;

CREATE TRIGGER after_insert AFTER INSERT ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION after_sync_jobs_insert();
CREATE TRIGGER after_update AFTER UPDATE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION after_sync_jobs_update();
CREATE TRIGGER after_delete AFTER DELETE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_delete();
CREATE TRIGGER after_truncate AFTER TRUNCATE ON sync_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_truncate();

-- A foreign key would forbid TRUNCATE of sync_jobs.
CREATE FUNCTION forget_attempts() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE attempts;
  ELSE
    DELETE FROM attempts WHERE job_id = ANY (ARRAY(SELECT id FROM old_jobs));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_after_delete AFTER DELETE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION forget_attempts();
CREATE TRIGGER forget_after_truncate AFTER TRUNCATE ON sync_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION forget_attempts();

---------------------------------------------------------------------------------------------------------
-- Triggers on sync_jobs and connections: sync_jobs.blocked
--
-- blocked = "its connection is not active, or runs another job". Transactions that set it, or start or end a
-- job, hold the connection's row lock: no job stays blocked by an ended one. A job queued during a claim may
-- be unblocked until a claim reads it.
--
-- LIMIT 3: at most one queued job per type. Without it the planner may join with all waiting jobs.
---------------------------------------------------------------------------------------------------------

-- 'jobs' may be claimed, 'runs' were taken away. Hashed: a schema name may be as long as a channel name.
CREATE FUNCTION wake_executors(reason text) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  SELECT pg_notify('syncline_' || md5(current_schema()), reason)
$$;

-- Queued jobs beside a running one. Leaves locked ones to their claim: waiting would deadlock.
CREATE FUNCTION block_siblings(connection_ids uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  siblings uuid[] := ARRAY(
    SELECT q.id FROM unnest(connection_ids) AS c (id) CROSS JOIN LATERAL (
      SELECT j.id FROM sync_jobs j WHERE j.connection_id = c.id AND j.status = 'queued' AND NOT j.blocked
      LIMIT 3 FOR NO KEY UPDATE SKIP LOCKED) q);
BEGIN
  IF siblings <> '{}' THEN
    UPDATE sync_jobs SET blocked = true WHERE id = ANY (siblings);
  END IF;
END $$;

-- For connections that seemed busy or inactive; decided again under their lock.
CREATE FUNCTION block_arrivals(job_ids uuid[], connection_ids uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM FROM connections WHERE id = ANY (connection_ids) ORDER BY id FOR NO KEY UPDATE;
  UPDATE sync_jobs j SET blocked = true
  WHERE j.id = ANY (job_ids) AND j.status = 'queued' AND (
    (SELECT c.status FROM connections c WHERE c.id = j.connection_id) <> 'active'
    OR (SELECT r.id FROM sync_jobs r
        WHERE r.connection_id = j.connection_id AND r.status = 'running' LIMIT 1) IS NOT NULL);
END $$;

-- After a running job ended, or the connection is active again. 0013 replaces it.
CREATE FUNCTION unblock_siblings(connection_ids uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  siblings uuid[];
BEGIN
  PERFORM FROM connections WHERE id = ANY (connection_ids) ORDER BY id FOR NO KEY UPDATE;
  siblings := ARRAY(
    SELECT q.id FROM unnest(connection_ids) AS t (id) CROSS JOIN LATERAL (
      SELECT j.id FROM sync_jobs j
      WHERE j.connection_id = t.id AND j.status = 'queued' AND j.blocked LIMIT 3) q
    WHERE (SELECT c.status FROM connections c WHERE c.id = t.id) = 'active'
      AND (SELECT r.id FROM sync_jobs r
           WHERE r.connection_id = t.id AND r.status = 'running' LIMIT 1) IS NULL);
  IF siblings <> '{}' THEN
    UPDATE sync_jobs SET blocked = false WHERE id = ANY (siblings);
    PERFORM wake_executors('jobs');
  END IF;
END $$;

CREATE FUNCTION block_sync_jobs() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM block_siblings(array_agg(connection_id)) FROM new_jobs WHERE status = 'running' HAVING count(*) > 0;
  PERFORM block_arrivals(array_agg(n.id), array_agg(n.connection_id)) FROM new_jobs n
  WHERE n.status = 'queued' AND NOT n.blocked AND (
    (SELECT c.status FROM connections c WHERE c.id = n.connection_id) <> 'active'
    OR (SELECT r.id FROM sync_jobs r
        WHERE r.connection_id = n.connection_id AND r.status = 'running' LIMIT 1) IS NOT NULL)
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE TRIGGER block_after_insert AFTER INSERT ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION block_sync_jobs();
CREATE TRIGGER block_after_update AFTER UPDATE ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION block_sync_jobs();

-- 0013 replaces it.
CREATE FUNCTION unblock_after_update() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM unblock_siblings(array_agg(connection_id)) FROM (
    SELECT connection_id FROM old_jobs WHERE status = 'running'
    EXCEPT
    SELECT connection_id FROM new_jobs WHERE status = 'running'
  ) left_running
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION unblock_after_delete() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM unblock_siblings(array_agg(connection_id)) FROM old_jobs WHERE status = 'running'
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE TRIGGER unblock_after_update AFTER UPDATE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION unblock_after_update();
CREATE TRIGGER unblock_after_delete AFTER DELETE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION unblock_after_delete();

CREATE FUNCTION after_connection_status() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.status = 'active' THEN
    PERFORM unblock_siblings(ARRAY[NEW.id]);
  ELSE
    PERFORM block_siblings(ARRAY[NEW.id]);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER after_status AFTER UPDATE OF status ON connections
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION after_connection_status();

---------------------------------------------------------------------------------------------------------
-- Triggers of the feed
---------------------------------------------------------------------------------------------------------

CREATE FUNCTION enter_feed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO feed (batch) SELECT DISTINCT batch FROM new_signals ON CONFLICT (batch) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER enter_feed AFTER INSERT ON signals
  REFERENCING NEW TABLE AS new_signals FOR EACH STATEMENT EXECUTE FUNCTION enter_feed();

-- Moves the sequence up to the highest position after a restore, or logical replication, which omits
-- sequences. SECURITY DEFINER: processes may not call setval.
CREATE FUNCTION repair_feed() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  highest bigint;
  reached bigint;
BEGIN
  -- One repair at a time. Writers that drew a position too low also wait here.
  PERFORM FROM feed_start FOR UPDATE;
  highest := (
    SELECT coalesce(
      (SELECT f.position FROM feed f WHERE f.position > s.position ORDER BY f.position DESC LIMIT 1),
      s.position)
    FROM feed_start s);
  SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO reached FROM feed_position;
  IF reached >= highest THEN
    RETURN false;
  END IF;
  -- setval would move the sequence back if writers had passed `highest` meanwhile. Each of them draws one
  -- position and then waits for the row above, so all sessions together cannot close a gap wider than
  -- max_connections; a smaller one is closed by drawing.
  IF highest - reached > current_setting('max_connections')::bigint THEN
    PERFORM setval('feed_position', highest);
  ELSE
    PERFORM nextval('feed_position') FROM generate_series(1, highest - reached);
  END IF;
  UPDATE feed_start SET epoch = epoch + 1;
  RETURN true;
END $$;

-- Reads the highest position before drawing: a draw that is not higher proves that the sequence went back.
-- Concurrent commits cannot cause it.
CREATE FUNCTION give_position() RETURNS trigger LANGUAGE plpgsql
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  highest bigint;
  drawn bigint;
BEGIN
  highest := (
    SELECT coalesce(
      (SELECT f.position FROM feed f WHERE f.position > s.position ORDER BY f.position DESC LIMIT 1),
      s.position)
    FROM feed_start s);
  drawn := nextval('feed_position');
  IF drawn <= highest THEN
    PERFORM repair_feed();
    drawn := nextval('feed_position');
  END IF;
  UPDATE feed SET position = drawn WHERE batch = NEW.batch;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON feed
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.position IS NULL) EXECUTE FUNCTION give_position();

CREATE FUNCTION prove_feed_start() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.batch := (SELECT f.batch FROM feed f WHERE f.position = NEW.position);
  RETURN NEW;
END $$;
CREATE TRIGGER prove_feed_start BEFORE UPDATE OF position ON feed_start
  FOR EACH ROW WHEN (NEW.position <> OLD.position) EXECUTE FUNCTION prove_feed_start();
