-- The schema of Syncline: its tables, and for each column, index, function and trigger why it exists.
-- `syncline migrate` runs this file with search_path set to the configured schema, so no name is qualified.
-- Later releases add files with higher numbers; this one does not change after a release.

---------------------------------------------------------------------------------------------------------
-- Functions that columns use
---------------------------------------------------------------------------------------------------------

-- Default of ids: a UUID of version 7, like the ids the engine makes, so that ids sort by time for every
-- writer.
CREATE FUNCTION time_ordered_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(set_bit(set_bit(overlay(
    uuid_send(gen_random_uuid())
    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
  ), 52, 1), 53, 1), 'hex')::uuid
$$;

-- Parses metadata.sync.next_run_at, which any client may have written, and never raises: an ISO-8601
-- instant with an offset, or null. The offset makes the cast independent of session settings, hence
-- IMMUTABLE. The shape is compared digit by digit because a regular expression takes 8 µs per write, and
-- this 2 µs; the cast rejects days that a month does not have.
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

-- The only way metadata.sync is written: sets the keys of the patch and keeps every other key. If metadata
-- or metadata.sync is not an object, the patch starts a new one.
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

-- The feed batch of the current transaction, created on first use. The body is parsed here, so the caller's
-- search_path does not matter.
CREATE FUNCTION signal_batch() RETURNS uuid LANGUAGE sql VOLATILE
BEGIN ATOMIC
  SELECT coalesce(
    nullif(current_setting('syncline.batch', true), ''),
    set_config('syncline.batch', time_ordered_id()::text, true))::uuid;
END;

---------------------------------------------------------------------------------------------------------
-- Tenants, providers, credentials, connections
---------------------------------------------------------------------------------------------------------

-- Customers of the operator.
CREATE TABLE tenants (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  name text,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- Search by the start of the name.
CREATE INDEX idx_tenants_name ON tenants (lower(name) text_pattern_ops);

-- Outside systems that connections sync from.
CREATE TABLE providers (
  slug text PRIMARY KEY,
  display_name text,
  auth_type text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Encrypted access to a provider's API. Several connections of a tenant may share one.
CREATE TABLE credentials (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  provider_slug text NOT NULL REFERENCES providers (slug),
  name text,
  kind text NOT NULL CHECK (kind IN ('api_key', 'basic', 'oauth2', 'custom')),
  -- AES-256-GCM: the configured key, and nonce, ciphertext and tag together. Table, tenant and id are
  -- authenticated with it.
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  -- Incremented by every change; a refresh compares it with the version it read.
  generation integer NOT NULL DEFAULT 1,
  -- Of the access token.
  expires_at timestamptz,
  -- The provider rejected the refresh; no process retries until the credential is replaced.
  refused_at timestamptz,
  refused_reason text,
  refreshed_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- Target of the foreign key of connections.
  UNIQUE (tenant_id, id)
);

-- One tenant's account at one provider.
CREATE TABLE connections (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  tenant_id uuid NOT NULL REFERENCES tenants (id),
  provider_slug text NOT NULL REFERENCES providers (slug),
  external_id text,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'needs_auth', 'disabled')),
  -- metadata.sync is the scheduler's contract: interval, next run, cursor. Other keys belong to the user.
  metadata jsonb DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- End of the latest incremental job. Stored here, so that deleting jobs does not lose it.
  last_incremental_ended_at timestamptz,
  -- Due, but its incremental job must end first. Set by the scheduler, cleared by the triggers on sync_jobs;
  -- keeps such connections out of idx_connections_due, or every tick would read all of them.
  waits_for_job boolean NOT NULL DEFAULT false,
  -- metadata.sync.next_run_at in a form that Postgres can index; absent or invalid means due now.
  due_at timestamptz NOT NULL GENERATED ALWAYS AS (
    coalesce(parse_instant(metadata #>> '{sync,next_run_at}'), '-infinity')
  ) STORED,
  -- Connector configuration, passed on unchanged.
  config jsonb NOT NULL DEFAULT '{}',
  -- Since when every run has failed, and the kind of the last failure; null while runs succeed.
  failing_since timestamptz,
  failure text,
  credential_id uuid,
  -- EXE-9: processes that died while they ran a job of this connection, at most five, the latest last; null
  -- after a run that ended. Stored here, so that the next job does not start at zero.
  losses jsonb,
  -- The connection is being deleted: its status is `disabled`, and no operation accepts it.
  deleting_since timestamptz,
  -- With the tenant, so that a connection cannot use another tenant's credential.
  CONSTRAINT connections_credential FOREIGN KEY (tenant_id, credential_id)
    REFERENCES credentials (tenant_id, id)
-- Free space in each page keeps writes of unindexed columns, such as a new cursor, HOT.
) WITH (fillfactor = 85);

-- The scheduler's. With the id, so that a tick continues after the last connection it took instead of
-- passing the same dead entries again.
CREATE INDEX idx_connections_due ON connections (due_at, id) WHERE status = 'active' AND NOT waits_for_job;
-- Lists. A page reads a bounded number of rows, so only filters that would find almost nothing in it have an
-- index. Every placement writes each index of connections, every run each index of sync_jobs three times.
CREATE INDEX idx_connections_tenant ON connections (tenant_id, id);
CREATE INDEX idx_connections_external ON connections (external_id text_pattern_ops)
  WHERE external_id IS NOT NULL;
CREATE INDEX idx_connections_inactive ON connections (status, id) WHERE status <> 'active';
CREATE INDEX idx_connections_failing ON connections (id) WHERE failing_since IS NOT NULL;
-- The connections of a credential.
CREATE INDEX idx_connections_credential ON connections (credential_id) WHERE credential_id IS NOT NULL;
-- Almost always empty. A write that does not change losses stays HOT.
CREATE INDEX idx_connections_losses ON connections (id) WHERE losses IS NOT NULL;

---------------------------------------------------------------------------------------------------------
-- Jobs
---------------------------------------------------------------------------------------------------------

-- One run, or the wait for it. Only connection_id is a foreign key: tenant and provider are copied from the
-- connection, and checking them for every job and signal would cost more than the insert.
CREATE TABLE sync_jobs (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  job_type text NOT NULL CHECK (job_type IN ('incremental', 'full', 'webhook')),
  -- 'completed' is an older word for 'succeeded': read, never written.
  status text NOT NULL DEFAULT 'queued'
    CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'completed')),
  priority smallint NOT NULL DEFAULT 0,
  -- Earlier failures.
  attempts integer NOT NULL DEFAULT 0,
  scheduled_at timestamptz NOT NULL DEFAULT now(),
  -- In backoff until then.
  retry_after timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  -- Where the run begins; null: at the connection's cursor.
  cursor jsonb,
  error jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- The process that runs it; null unless running, and while a worker outside Syncline runs it.
  process_id uuid,
  -- The fence: a run writes only while this is its own claim.
  claim_id uuid,
  -- Triggered again while running: the priority of the job that follows.
  rerun_priority smallint,
  -- The connection is not active, or runs another job. Keeps the job out of the indexes that claims read, or
  -- every claim would read all of them.
  blocked boolean NOT NULL DEFAULT false,
  -- Result of the run: new signals and the stored cursor. The jobs of a connection are its cursor history.
  signal_count integer NOT NULL DEFAULT 0,
  next_cursor jsonb,
  -- A provider sent a hint that the current walk may miss: one more run follows its last page. Cleared when a
  -- job without a cursor of its own is claimed, because that run starts after the hint.
  hinted boolean NOT NULL DEFAULT false
);

-- DB-1: one pending job per connection and type.
CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs (connection_id, job_type)
  WHERE status IN ('queued','running');
-- EXE-3: single flight, enforced for every writer.
CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs (connection_id) WHERE status = 'running';
-- Claims read ready jobs in claim order. Jobs in backoff are in the second index; when retry_after has
-- passed, it is set to null and the job moves to the first.
CREATE INDEX idx_sync_jobs_ready ON sync_jobs (provider_slug, priority, scheduled_at)
  WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL;
CREATE INDEX idx_sync_jobs_retry ON sync_jobs (provider_slug, retry_after)
  WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL;
-- Read whenever a job of the connection ends. Almost always empty.
CREATE INDEX idx_sync_jobs_blocked ON sync_jobs (connection_id) WHERE status = 'queued' AND blocked;
-- A connection's jobs, newest last. Not partial: deleting a connection finds all of its jobs here.
CREATE INDEX idx_sync_jobs_history ON sync_jobs (connection_id, coalesce(finished_at, updated_at));
-- The janitor's.
CREATE INDEX idx_sync_jobs_ended ON sync_jobs (coalesce(finished_at, updated_at))
  WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed');
-- Lists of a tenant, and of failed jobs.
CREATE INDEX idx_sync_jobs_tenant ON sync_jobs (tenant_id, id);
CREATE INDEX idx_sync_jobs_failed ON sync_jobs (id) WHERE status = 'failed';
CREATE INDEX idx_sync_jobs_failed_tenant ON sync_jobs (tenant_id, id) WHERE status = 'failed';

-- Runs that the job's row does not describe: earlier ones, and those whose connector logged. A run that
-- succeeds at once without a log has no row, so it costs nothing.
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

-- Normalised events that runs and deliveries store.
CREATE TABLE signals (
  id uuid PRIMARY KEY DEFAULT time_ordered_id(),
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  kind text NOT NULL,
  occurred_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  payload jsonb NOT NULL,
  dedupe_key text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The job whose run stored it.
  job_id uuid,
  -- The transaction that stored it: its row in feed.
  batch uuid NOT NULL DEFAULT signal_batch()
);
-- EXE-5: a signal with a known dedupe key is absorbed.
CREATE UNIQUE INDEX idx_signals_dedupe ON signals (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL;
-- Lists of a connection and of a tenant.
CREATE INDEX idx_signals_connection ON signals (connection_id, received_at);
CREATE INDEX idx_signals_tenant ON signals (tenant_id, id);
-- Readers of the feed.
CREATE INDEX idx_signals_batch ON signals (batch, tenant_id, id);

-- The feed: batches of signals in commit order. A deferred trigger draws the position while the transaction
-- commits, so a later commit has a higher position. The transaction of a missing position is either
-- committing now or rolled back.
CREATE SEQUENCE feed_position;
CREATE TABLE feed (
  batch uuid PRIMARY KEY,
  position bigint,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_feed_position ON feed (position) WHERE position IS NOT NULL;
-- The first position is a batch without signals.
INSERT INTO feed (batch, position)
VALUES ('00000000-0000-0000-0000-000000000000', nextval('feed_position'));

-- One row: up to where the feed has been deleted, with its signals.
CREATE TABLE feed_start (
  position bigint NOT NULL,
  -- The batch at that position, kept after its row is deleted: cursors that point there are compared with it.
  batch uuid,
  -- Counts repairs of the sequence.
  epoch integer NOT NULL DEFAULT 1
);
INSERT INTO feed_start (position) VALUES (0);

-- Positions of named readers. The all-zero tenant is the operator.
CREATE TABLE consumers (
  tenant_id uuid NOT NULL,
  name text NOT NULL,
  after text NOT NULL,
  -- The current reader. A newer one takes over; the older one's next call fails with CONFLICT.
  reader uuid,
  created_at timestamptz NOT NULL,
  moved_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

---------------------------------------------------------------------------------------------------------
-- Processes and statistics
---------------------------------------------------------------------------------------------------------

-- Executors and their leases, renewed by heartbeats. Jobs of an expired one are requeued.
CREATE TABLE processes (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  concurrency integer NOT NULL,
  -- Providers that it has connectors for.
  providers text[] NOT NULL,
  started_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- Positive: its clock was ahead of the database's at the last heartbeat.
  clock_skew_seconds integer NOT NULL DEFAULT 0,
  -- The process itself gave the lease up (it stops, or continues under another id), so it has not died.
  released boolean NOT NULL DEFAULT false
);

-- Schedulers and their last ticks. They need no lease.
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

-- Runs and signals per minute, tenant and provider; rows of the all-zero tenant are totals. Written by the
-- transaction that stores the runs. Each transaction picks a random `slot`, so that concurrent ones do not
-- wait for a row; readers add the slots up. Histograms: lag_0 … how late runs started, age_0 … how old a
-- connection's data was when a run renewed it.
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
-- A row is updated many times within its minute; free space keeps that HOT.
) WITH (fillfactor = 50);
-- After a day the janitor merges minutes into hours, with slot -1.
CREATE INDEX idx_rollups_hours ON rollups (minute) WHERE slot < 0;
CREATE INDEX idx_rollups_fine ON rollups (minute) WHERE slot >= 0;

---------------------------------------------------------------------------------------------------------
-- Callers: keys, sessions, the audit log, deletions
---------------------------------------------------------------------------------------------------------

-- Keys are random, so a plain hash cannot be reversed or guessed. Without a tenant: the operator's.
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
  -- The key that created it: a leaked key is revoked together with its descendants.
  parent_id uuid REFERENCES api_keys (id) ON DELETE SET NULL
);
CREATE INDEX idx_api_keys_tenant ON api_keys (tenant_id, id);
CREATE INDEX idx_api_keys_parent ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
-- Events name keys, so a name identifies one valid key of the operator or of a tenant.
CREATE UNIQUE INDEX idx_api_keys_name ON api_keys (tenant_id, name) NULLS NOT DISTINCT
  WHERE revoked_at IS NULL;

-- Logins of the dashboard. Without a key: by the one-time token that a process prints.
CREATE TABLE sessions (
  hash bytea PRIMARY KEY,
  key_id uuid REFERENCES api_keys (id) ON DELETE CASCADE,
  actor text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX idx_sessions_expires ON sessions (expires_at);
CREATE INDEX idx_sessions_key ON sessions (key_id) WHERE key_id IS NOT NULL;

-- The audit log: what callers and the engine did, and why. Rows outlive what they name, so there are no
-- foreign keys.
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
  -- The API key that acted.
  key_id uuid
);
CREATE INDEX idx_events_connection ON events (connection_id, id);
CREATE INDEX idx_events_tenant ON events (tenant_id, id);
CREATE INDEX idx_events_key ON events (key_id, id) WHERE key_id IS NOT NULL;
-- The janitor's.
CREATE INDEX idx_events_created ON events (created_at);

-- Deletions of connections run in the background; these are their progress and requester. A finished one
-- stays for a week, so that the requester sees the end. No foreign key: the row outlives its connection.
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
  -- Of the last batch, if it failed; it is retried after 5 s.
  error text,
  requested_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  finished_at timestamptz
);
-- Longest wait first, so that a large deletion does not hold up the others.
CREATE INDEX idx_deletions_open ON deletions (updated_at) WHERE finished_at IS NULL;
CREATE INDEX idx_deletions_finished ON deletions (finished_at) WHERE finished_at IS NOT NULL;

---------------------------------------------------------------------------------------------------------
-- Providers' side: consent, rate limits, webhooks
---------------------------------------------------------------------------------------------------------

-- OAuth consents under way. `state` is the hash of the link to the consent page. Continuing from there binds
-- the row to that browser: it stores the hash of the state that the provider returns, and of a secret that
-- only that browser has.
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
CREATE INDEX idx_authorizations_expires ON authorizations (expires_at);
CREATE INDEX idx_authorizations_connection ON authorizations (connection_id);

-- Rate limits shared by all processes: a bucket that is refilled when its window ends. Processes take tokens
-- in blocks. Available: most - spent - drift - leased - carried.
CREATE TABLE budgets (
  key text COLLATE "C" PRIMARY KEY,
  -- Null: shared by all tenants.
  tenant_id uuid,
  provider_slug text NOT NULL,
  -- No foreign keys: a row may outlive its credential by a week, and a violation would fail a transaction
  -- that changes many others.
  credential_id uuid,
  name text NOT NULL,
  most integer NOT NULL CHECK (most > 0),
  -- The limit that the connector declares; the provider's own statement takes precedence.
  stated integer NOT NULL,
  period_seconds integer NOT NULL CHECK (period_seconds > 0),
  -- Counts windows, so that tokens returned late are recognised as of an earlier one.
  window_number bigint NOT NULL DEFAULT 1,
  -- Answered requests of this window that processes reported.
  spent integer NOT NULL DEFAULT 0,
  -- How much more the provider counts: requests of other clients, and unreported ones.
  drift integer NOT NULL DEFAULT 0,
  -- Leased to processes and not yet reported.
  leased integer NOT NULL DEFAULT 0,
  -- The same, of the previous window: requests under way at its end may count in this one.
  carried integer NOT NULL DEFAULT 0,
  opened_at timestamptz NOT NULL,
  -- Tokens may be spent until resets_at; the next window may begin at opens_at.
  resets_at timestamptz NOT NULL,
  opens_at timestamptz NOT NULL,
  -- When the provider last stated what remains.
  learned_at timestamptz
) WITH (fillfactor = 50);
CREATE INDEX idx_budgets_tenant ON budgets (tenant_id, key);
CREATE INDEX idx_budgets_credential ON budgets (credential_id, key);
-- Changes once per window, so that all other updates stay HOT.
CREATE INDEX idx_budgets_resets ON budgets (resets_at);

-- The secret with which a provider signs deliveries to a connection's webhook.
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
-- They apply to every writer. Claims, commits and placements of the engine do the same in the statements
-- that they send anyway, and set `syncline.triggers` to off for their transaction: of 130 µs per run, the
-- triggers took 25 to find nothing left to do.
---------------------------------------------------------------------------------------------------------

-- Per statement, so a batch of jobs costs one update. The connections are locked first: a scheduler that
-- sets waits_for_job concurrently has either committed and is corrected here, or reads the ended job later.
-- Arrays instead of joins keep the plan the same for one job and for a million.
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

-- A connection without its pending job may be scheduled; an ended job is its last run.
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

-- A deleted pending job no longer holds its connection back.
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

-- Attempts are deleted with their jobs. A foreign key would forbid TRUNCATE of sync_jobs.
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
-- blocked = "its connection is not active, or runs another job". A transaction that sets it, or starts or
-- ends a job, holds the row lock of the connection, so no job stays blocked by one that has ended. A job
-- queued during a concurrent claim may be unblocked for a moment; the claim that reads it blocks it.
--
-- LIMIT 3 in the lookups: a connection has at most one queued job of each type. Without a limit the planner
-- may join with all waiting jobs.
---------------------------------------------------------------------------------------------------------

-- Wakes executors: 'jobs' may be claimed, or 'runs' were taken away. A schema name may be as long as a
-- channel name, hence the hash.
CREATE FUNCTION wake_executors(reason text) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  SELECT pg_notify('syncline_' || md5(current_schema()), reason)
$$;

-- Queued jobs beside one that now runs. A sibling locked by another claim is left to that claim: waiting for
-- it would be a deadlock.
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

-- Jobs queued for a connection that seemed busy or inactive; decided again once the connection is locked.
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

-- Connections whose running job ended, or that are active again: their other jobs may run.
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

-- After an insert or update: running jobs block others, queued jobs may have to wait.
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

-- A running job ended, was requeued or deleted.
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

-- Per row, but only if the status changes: a write of metadata does not fire it.
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

-- Adds the batch of each stored signal.
CREATE FUNCTION enter_feed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO feed (batch) SELECT DISTINCT batch FROM new_signals ON CONFLICT (batch) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER enter_feed AFTER INSERT ON signals
  REFERENCING NEW TABLE AS new_signals FOR EACH STATEMENT EXECUTE FUNCTION enter_feed();

-- Moves the sequence to the highest stored position if it is behind (a restore, or a copy by logical
-- replication, which does not carry sequences); returns whether it was. SECURITY DEFINER: setval needs a
-- privilege that the role of the processes does not have.
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

-- Reads the highest position before it draws the new one: every position that this snapshot sees was drawn
-- earlier, so a new one that is not higher proves that the sequence went back. Concurrent commits cannot
-- look like that.
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

-- Keeps the batch at the start of the feed, for every writer.
CREATE FUNCTION prove_feed_start() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.batch := (SELECT f.batch FROM feed f WHERE f.position = NEW.position);
  RETURN NEW;
END $$;
CREATE TRIGGER prove_feed_start BEFORE UPDATE OF position ON feed_start
  FOR EACH ROW WHEN (NEW.position <> OLD.position) EXECUTE FUNCTION prove_feed_start();
