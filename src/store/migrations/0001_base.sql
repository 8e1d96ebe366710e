-- The tables of Syncline, and what lets a scheduler find due connections at a cost that grows with what is due.
-- Runs with search_path set to the configured schema, so no name here is qualified.

-- metadata.sync.next_run_at is text that anybody may have written. This reads it without ever raising: an ISO-8601
-- instant that states its offset, or null. With the offset stated the cast depends on no session setting, which is what
-- makes it right to call this immutable. The shape is compared digit by digit because a regular expression that says
-- the same took 8 µs of every write, and this 2 µs; the cast has the last word on days that no month has.
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
    -- Postgres would take 24:00:00 and a sixtieth second.
    AND pg_catalog.substr(value, 12, 2) COLLATE "C" < '24' AND pg_catalog.substr(value, 18, 2) COLLATE "C" < '60'
  THEN
    RETURN value::pg_catalog.timestamptz;
  END IF;
  RETURN NULL;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;

-- The one way metadata.sync is written: the patch's keys are set, every other key stays as it is.
-- Where metadata or metadata.sync is no object there are no keys to keep, and the patch starts a new one.
CREATE FUNCTION patch_sync(metadata jsonb, patch jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(metadata -> 'sync') = 'object' THEN jsonb_set(metadata, '{sync}', (metadata -> 'sync') || patch)
    WHEN jsonb_typeof(metadata) = 'object' THEN jsonb_set(metadata, '{sync}', patch)
    -- not jsonb_build_object: it is only stable, and would keep this function from being inlined
    ELSE jsonb_set('{}', '{sync}', patch)
  END
$$;

CREATE TABLE tenants (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE providers (
  slug text PRIMARY KEY,
  display_name text,
  auth_type text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE connections (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL REFERENCES tenants (id),
  provider_slug text NOT NULL REFERENCES providers (slug),
  external_id text,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'needs_auth', 'disabled')),
  metadata jsonb DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- When the latest incremental job ended. Kept here, by the triggers below, so that deleting jobs never loses it.
  last_incremental_ended_at timestamptz,
  -- Due, but its incremental job must end first. Set by the scheduler when it meets such a connection, cleared by the
  -- triggers below; keeps those connections out of the index, or every tick would read all of them again.
  waits_for_job boolean NOT NULL DEFAULT false,
  -- metadata.sync.next_run_at as something Postgres can index. metadata stays the single truth.
  due_at timestamptz NOT NULL GENERATED ALWAYS AS (
    coalesce(parse_instant(metadata #>> '{sync,next_run_at}'), '-infinity')
  ) STORED
-- Room in each page lets a write that moves no indexed column, such as a new cursor, stay in its page (HOT).
) WITH (fillfactor = 85);

-- With the id, so that a tick can go on after the last connection it took instead of passing the same dead entries again.
CREATE INDEX idx_connections_due ON connections (due_at, id) WHERE status = 'active' AND NOT waits_for_job;

-- Only connection_id refers to another table: tenant and provider are copied from the connection, and checking
-- them again on every job and signal would cost more than the insert itself.
CREATE TABLE sync_jobs (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  job_type text NOT NULL CHECK (job_type IN ('incremental', 'full', 'webhook')),
  -- 'completed' is an older word for 'succeeded': understood, never written.
  status text NOT NULL DEFAULT 'queued'
    CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'completed')),
  priority smallint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  scheduled_at timestamptz NOT NULL DEFAULT now(),
  retry_after timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cursor jsonb,
  error jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs (connection_id, job_type) WHERE status IN ('queued','running');

-- What the janitor walks.
CREATE INDEX idx_sync_jobs_ended ON sync_jobs (coalesce(finished_at, updated_at))
  WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed');

CREATE TABLE signals (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  kind text NOT NULL,
  occurred_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  payload jsonb NOT NULL,
  dedupe_key text,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- When any writer ends or removes an incremental job, these triggers update its connection for the scheduler.
-- Per statement, not per row: a batch of jobs costs one update.
--
-- The connections are locked before they are judged: a scheduler that is setting waits_for_job at this moment has
-- either committed, and is undone here, or comes after and finds the job ended. Arrays, not joins, make the plan the
-- same for one job and for a million.
CREATE FUNCTION release_connections(ids uuid[], ended_at timestamptz[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM FROM connections WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE;
  UPDATE connections c
  SET waits_for_job = false,
      last_incremental_ended_at = greatest(c.last_incremental_ended_at, released.ended_at)
  FROM unnest(ids, ended_at) AS released (id, ended_at)
  WHERE c.id = ANY (ids) AND c.id = released.id
    AND (c.waits_for_job OR c.last_incremental_ended_at IS DISTINCT FROM greatest(c.last_incremental_ended_at, released.ended_at));
END $$;

CREATE FUNCTION after_sync_jobs_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM release_connections(array_agg(connection_id), array_agg(ended_at))
  FROM (
    SELECT connection_id, max(coalesce(finished_at, updated_at)) AS ended_at FROM new_jobs
    WHERE job_type = 'incremental' AND status NOT IN ('queued', 'running') AND isfinite(coalesce(finished_at, updated_at))
    GROUP BY connection_id
  ) ended
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION after_sync_jobs_update() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM release_connections(array_agg(connection_id), array_agg(ended_at))
  FROM (
    SELECT connection_id, max(ended_at) AS ended_at FROM (
      (SELECT connection_id, NULL::timestamptz AS ended_at FROM old_jobs
       WHERE job_type = 'incremental' AND status IN ('queued', 'running')
       EXCEPT
       SELECT connection_id, NULL FROM new_jobs WHERE job_type = 'incremental' AND status IN ('queued', 'running'))
      UNION ALL
      SELECT connection_id, coalesce(finished_at, updated_at) FROM new_jobs
      WHERE job_type = 'incremental' AND status NOT IN ('queued', 'running') AND isfinite(coalesce(finished_at, updated_at))
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
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_insert();
CREATE TRIGGER after_update AFTER UPDATE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_update();
CREATE TRIGGER after_delete AFTER DELETE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_delete();
CREATE TRIGGER after_truncate AFTER TRUNCATE ON sync_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_truncate();
