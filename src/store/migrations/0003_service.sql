-- What the service shows, hands out and lets people do: lists, statistics, a feed, keys, and who did what.

-- Lists. A page reads a bounded number of rows, so not every filter needs an index: only those that would otherwise find
-- next to nothing in it. Each index on connections is written by every placement, and each on sync_jobs three times per run.
CREATE INDEX idx_connections_tenant ON connections (tenant_id, id);
CREATE INDEX idx_connections_external ON connections (external_id text_pattern_ops) WHERE external_id IS NOT NULL;
CREATE INDEX idx_connections_inactive ON connections (status, id) WHERE status <> 'active';
CREATE INDEX idx_sync_jobs_tenant ON sync_jobs (tenant_id, id);
CREATE INDEX idx_sync_jobs_failed ON sync_jobs (id) WHERE status = 'failed';
CREATE INDEX idx_sync_jobs_failed_tenant ON sync_jobs (tenant_id, id) WHERE status = 'failed';
-- All jobs of a connection, not only those that have ended: deleting a connection looks for them without saying which.
DROP INDEX idx_sync_jobs_history;
CREATE INDEX idx_sync_jobs_history ON sync_jobs (connection_id, coalesce(finished_at, updated_at));
CREATE INDEX idx_signals_tenant ON signals (tenant_id, id);
CREATE INDEX idx_tenants_name ON tenants (lower(name) text_pattern_ops);

-- Since when every run of a connection has failed, and of what kind the last failure was. Empty while all is well.
ALTER TABLE connections ADD COLUMN failing_since timestamptz, ADD COLUMN failure text;
CREATE INDEX idx_connections_failing ON connections (id) WHERE failing_since IS NOT NULL;

-- What a run found, kept with its job: how many signals were new, and the cursor it stored. So a connection's jobs are
-- the history of its cursor.
ALTER TABLE sync_jobs ADD COLUMN signal_count integer NOT NULL DEFAULT 0, ADD COLUMN next_cursor jsonb;

-- Runs that a job's own row cannot tell of: those before its last one, and those whose connector logged something.
-- A run that succeeds at once and says nothing has no row here, so that it costs nothing.
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

-- Deleted with their jobs. Not by a foreign key: that would forbid TRUNCATE of sync_jobs.
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

-- What was done, by whom and why: not only to connections any more.
ALTER TABLE events
  ALTER COLUMN tenant_id DROP NOT NULL,
  ALTER COLUMN connection_id DROP NOT NULL,
  ADD COLUMN detail jsonb;
DROP INDEX idx_events_connection;
CREATE INDEX idx_events_connection ON events (connection_id, id);
CREATE INDEX idx_events_tenant ON events (tenant_id, id);
UPDATE events SET kind = CASE WHEN kind IN ('cancelled', 'retried') THEN 'job.' ELSE 'connection.' END || kind;

-- Runs and signals per minute, tenant and provider; the rows of the all-zero tenant hold the totals. Written by the
-- transaction that stores the runs, so they are neither late nor lost. `slot` keeps transactions that are written at the
-- same time out of each other's way: each takes one at random, and a reader adds them up. lag_0 … and age_0 … are
-- histograms: how late runs started, and how old a connection's data had become when it was renewed.
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
-- A row is counted up many times within its minute; room in its page keeps that cheap (HOT).
) WITH (fillfactor = 50);
-- After a day the janitor makes hours of them, with slot -1: a week of minutes is more than anybody can see.
CREATE INDEX idx_rollups_hours ON rollups (minute) WHERE slot < 0;
CREATE INDEX idx_rollups_fine ON rollups (minute) WHERE slot >= 0;

-- Schedulers, and when each last ticked. Executors have a lease in `processes`.
CREATE TABLE schedulers (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL,
  ticked_at timestamptz NOT NULL,
  tick_ms integer NOT NULL,
  scheduled integer NOT NULL
);

-- The feed: signals in the order in which their transactions commit. All signals of a transaction have one batch; each
-- batch gets its position from a sequence in the moment in which its transaction commits, by a deferred trigger. So
-- a later commit has a higher position, and a reader that finds one missing knows that its transaction is either
-- just committing or gone.
CREATE SEQUENCE feed_position;
CREATE TABLE feed (
  batch uuid PRIMARY KEY,
  position bigint,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_feed_position ON feed (position) WHERE position IS NOT NULL;

-- Up to where the feed has been deleted, with its signals.
CREATE TABLE feed_start (position bigint NOT NULL);
INSERT INTO feed_start VALUES (0);

-- The batch of this transaction, made when it is first asked for. The body is parsed at
-- creation, so the caller's search_path does not matter.
CREATE FUNCTION signal_batch() RETURNS uuid LANGUAGE sql VOLATILE
BEGIN ATOMIC
  SELECT coalesce(
    nullif(current_setting('syncline.batch', true), ''),
    set_config('syncline.batch', time_ordered_id()::text, true))::uuid;
END;

-- What is there already counts as one batch, the first.
ALTER TABLE signals ADD COLUMN batch uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
ALTER TABLE signals ALTER COLUMN batch SET DEFAULT signal_batch();
CREATE INDEX idx_signals_batch ON signals (batch, tenant_id, id);
INSERT INTO feed (batch, position) VALUES ('00000000-0000-0000-0000-000000000000', nextval('feed_position'));

CREATE FUNCTION enter_feed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO feed (batch) SELECT DISTINCT batch FROM new_signals ON CONFLICT (batch) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER enter_feed AFTER INSERT ON signals
  REFERENCING NEW TABLE AS new_signals FOR EACH STATEMENT EXECUTE FUNCTION enter_feed();

CREATE FUNCTION give_position() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE feed SET position = nextval('feed_position') WHERE batch = NEW.batch;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON feed
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.position IS NULL) EXECUTE FUNCTION give_position();

-- How far a named reader has come. The all-zero tenant is the operator.
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

-- Keys are random, so a plain hash of them can neither be reversed nor guessed. No tenant: the operator.
CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  tenant_id uuid REFERENCES tenants (id) ON DELETE CASCADE,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX idx_api_keys_tenant ON api_keys (tenant_id, id);

-- Logins of the dashboard. Without a key: by a one-time token of a process that was started by hand.
CREATE TABLE sessions (
  hash bytea PRIMARY KEY,
  key_id uuid REFERENCES api_keys (id) ON DELETE CASCADE,
  actor text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX idx_sessions_expires ON sessions (expires_at);
