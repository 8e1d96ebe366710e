-- What executors need: leases, one running job per connection, and a claim whose cost grows with what is due.

-- The id of a row that another writer inserts: a UUID of version 7, as the engine makes them, so that rows can be listed in
-- time order, whichever client wrote them.
CREATE FUNCTION time_ordered_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(set_bit(set_bit(overlay(
    uuid_send(gen_random_uuid())
    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
  ), 52, 1), 53, 1), 'hex')::uuid
$$;
ALTER TABLE tenants ALTER COLUMN id SET DEFAULT time_ordered_id();
ALTER TABLE connections ALTER COLUMN id SET DEFAULT time_ordered_id();
ALTER TABLE sync_jobs ALTER COLUMN id SET DEFAULT time_ordered_id();
ALTER TABLE signals ALTER COLUMN id SET DEFAULT time_ordered_id();

-- Connector configuration; the engine passes it on unchanged.
ALTER TABLE connections ADD COLUMN config jsonb NOT NULL DEFAULT '{}';

-- Processes that run jobs. One row each, renewed by its heartbeat; the jobs of one that expired are put back.
CREATE TABLE processes (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  concurrency integer NOT NULL,
  -- What it has connectors for.
  providers text[] NOT NULL,
  started_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);

ALTER TABLE sync_jobs
  -- The process that runs it; NULL unless it runs, and where a worker outside Syncline runs it.
  ADD COLUMN process_id uuid,
  -- The claim under which it runs. Everything that a run writes is written only while this is still its own claim.
  ADD COLUMN claim_id uuid,
  -- Asked for again while it was running: the priority of the job that follows it.
  ADD COLUMN rerun_priority smallint,
  -- It must wait: its connection is not active, or another job of its connection runs. Kept by the triggers below;
  -- keeps such jobs out of the indexes that are claimed from, or every claim would read all of them again.
  ADD COLUMN blocked boolean NOT NULL DEFAULT false;

-- EXE-3: single flight, enforced for every writer.
CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs (connection_id) WHERE status = 'running';

-- What can be claimed once its time has come, in the order of claiming. Jobs that back off are in the second index until
-- their retry_after has passed; then it is set to null, and they are back in the first.
CREATE INDEX idx_sync_jobs_ready ON sync_jobs (provider_slug, priority, scheduled_at)
  WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL;
CREATE INDEX idx_sync_jobs_retry ON sync_jobs (provider_slug, retry_after)
  WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL;

-- Blocked jobs, looked up whenever a job of their connection ends. Nearly always empty, so that costs next to nothing.
CREATE INDEX idx_sync_jobs_blocked ON sync_jobs (connection_id) WHERE status = 'queued' AND blocked;

-- The history of a connection, newest last; also what deleting a connection looks its jobs up by.
CREATE INDEX idx_sync_jobs_history ON sync_jobs (connection_id, coalesce(finished_at, updated_at))
  WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed');

-- The job whose run stored the signal.
ALTER TABLE signals ADD COLUMN job_id uuid;
CREATE UNIQUE INDEX idx_signals_dedupe ON signals (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX idx_signals_connection ON signals (connection_id, received_at);

-- What people and the engine did to a connection, and why. Outlives the connection, so it refers to nothing.
CREATE TABLE events (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  job_id uuid,
  kind text NOT NULL,
  actor text NOT NULL,
  reason text,
  created_at timestamptz NOT NULL
);
CREATE INDEX idx_events_connection ON events (connection_id, created_at);
CREATE INDEX idx_events_created ON events (created_at);

-- Executors listen here: 'jobs' may be claimed, or 'runs' were taken away. A schema name may be as long as a channel name,
-- hence the hash.
CREATE FUNCTION wake_executors(reason text) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  SELECT pg_notify('syncline_' || md5(current_schema()), reason)
$$;

-- blocked = "its connection is not active, or runs another job". A transaction that sets it, or that starts or ends a job,
-- holds the row lock on the connection, so no job is blocked by one that has just ended. A job queued during a concurrent
-- claim may be unblocked for a moment; the claim that meets it blocks it.
--
-- LIMIT 3 in the look-ups: a connection has at most one queued job of each type. Without a limit the planner may join with
-- everything that waits.

-- The queued jobs beside one that now runs. A sibling that another claim holds at this moment is left to that claim:
-- waiting for it here would be a deadlock.
CREATE FUNCTION block_siblings(connection_ids uuid[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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

-- Jobs that were queued for a connection that is busy or not active, as far as could be seen. Judged again once the
-- connection is locked.
CREATE FUNCTION block_arrivals(job_ids uuid[], connection_ids uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM FROM connections WHERE id = ANY (connection_ids) ORDER BY id FOR NO KEY UPDATE;
  UPDATE sync_jobs j SET blocked = true
  WHERE j.id = ANY (job_ids) AND j.status = 'queued' AND (
    (SELECT c.status FROM connections c WHERE c.id = j.connection_id) <> 'active'
    OR (SELECT r.id FROM sync_jobs r WHERE r.connection_id = j.connection_id AND r.status = 'running' LIMIT 1) IS NOT NULL);
END $$;

-- Connections that a running job has left, or that are active again: their other jobs may run.
CREATE FUNCTION unblock_siblings(connection_ids uuid[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  siblings uuid[];
BEGIN
  PERFORM FROM connections WHERE id = ANY (connection_ids) ORDER BY id FOR NO KEY UPDATE;
  siblings := ARRAY(
    SELECT q.id FROM unnest(connection_ids) AS t (id) CROSS JOIN LATERAL (
      SELECT j.id FROM sync_jobs j WHERE j.connection_id = t.id AND j.status = 'queued' AND j.blocked LIMIT 3) q
    WHERE (SELECT c.status FROM connections c WHERE c.id = t.id) = 'active'
      AND (SELECT r.id FROM sync_jobs r WHERE r.connection_id = t.id AND r.status = 'running' LIMIT 1) IS NULL);
  IF siblings <> '{}' THEN
    UPDATE sync_jobs SET blocked = false WHERE id = ANY (siblings);
    PERFORM wake_executors('jobs');
  END IF;
END $$;

-- Whatever is inserted or changed: who runs now keeps others back, who is queued may have to wait.
CREATE FUNCTION block_sync_jobs() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM block_siblings(array_agg(connection_id)) FROM new_jobs WHERE status = 'running' HAVING count(*) > 0;
  PERFORM block_arrivals(array_agg(n.id), array_agg(n.connection_id)) FROM new_jobs n
  WHERE n.status = 'queued' AND NOT n.blocked AND (
    (SELECT c.status FROM connections c WHERE c.id = n.connection_id) <> 'active'
    OR (SELECT r.id FROM sync_jobs r WHERE r.connection_id = n.connection_id AND r.status = 'running' LIMIT 1) IS NOT NULL)
  HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE TRIGGER block_after_insert AFTER INSERT ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION block_sync_jobs();
CREATE TRIGGER block_after_update AFTER UPDATE ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION block_sync_jobs();

-- Whatever has left a connection: a job that ended, was put back or deleted.
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
  PERFORM unblock_siblings(array_agg(connection_id)) FROM old_jobs WHERE status = 'running' HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE TRIGGER unblock_after_update AFTER UPDATE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION unblock_after_update();
CREATE TRIGGER unblock_after_delete AFTER DELETE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION unblock_after_delete();

-- Per row, but only for rows whose status really changes: a write of metadata never comes here.
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

-- What is there already.
UPDATE sync_jobs j SET blocked = true
WHERE j.status = 'queued' AND EXISTS (
  SELECT FROM connections c WHERE c.id = j.connection_id
    AND (c.status <> 'active' OR EXISTS (SELECT FROM sync_jobs r WHERE r.connection_id = c.id AND r.status = 'running')));
