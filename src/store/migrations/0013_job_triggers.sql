-- Triggers replace the foreign keys to connections, which cost a key share lock and a lookup per row although
-- the engine holds the connection's row lock. Deletions still cascade; rows of other writers are checked.
ALTER TABLE sync_jobs DROP CONSTRAINT sync_jobs_connection_id_fkey;
ALTER TABLE signals DROP CONSTRAINT signals_connection_id_fkey;

-- SECURITY DEFINER, as a foreign key: no privilege on the other table is needed. Any role can attach a
-- trigger function to its own table, so both reject other tables.
CREATE FUNCTION require_connection() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_RELID NOT IN ('sync_jobs'::regclass, 'signals'::regclass) THEN
    RAISE insufficient_privilege USING MESSAGE = 'require_connection is a trigger of sync_jobs and signals';
  END IF;
  PERFORM FROM connections WHERE id = NEW.connection_id FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('insert or update on table "%1$s" violates foreign key constraint "%1$s_connection_id_fkey"',
        TG_TABLE_NAME),
      DETAIL = format('Key (connection_id)=(%s) is not present in table "connections".', NEW.connection_id),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = TG_TABLE_NAME || '_connection_id_fkey';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER require_connection_of_insert AFTER INSERT ON sync_jobs
  FOR EACH ROW WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION require_connection();
CREATE TRIGGER require_connection_of_update AFTER UPDATE OF connection_id ON sync_jobs
  FOR EACH ROW WHEN (OLD.connection_id <> NEW.connection_id) EXECUTE FUNCTION require_connection();
CREATE TRIGGER require_connection_of_insert AFTER INSERT ON signals
  FOR EACH ROW WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off')
  EXECUTE FUNCTION require_connection();
CREATE TRIGGER require_connection_of_update AFTER UPDATE OF connection_id ON signals
  FOR EACH ROW WHEN (OLD.connection_id <> NEW.connection_id) EXECUTE FUNCTION require_connection();

-- By two indexes: none on connection_id covers pending and ended jobs.
CREATE FUNCTION delete_owned() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  IF TG_RELID <> 'connections'::regclass THEN
    RAISE insufficient_privilege USING MESSAGE = 'delete_owned is a trigger of connections';
  END IF;
  DELETE FROM sync_jobs WHERE connection_id = OLD.id AND status IN ('queued', 'running');
  DELETE FROM sync_jobs
  WHERE connection_id = OLD.id AND status IN ('succeeded', 'failed', 'cancelled', 'completed');
  DELETE FROM signals WHERE connection_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER delete_owned AFTER DELETE ON connections FOR EACH ROW EXECUTE FUNCTION delete_owned();

-- A table that the same statement truncates is empty here, and cannot be truncated twice.
CREATE FUNCTION truncate_owned() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT FROM sync_jobs) THEN
    TRUNCATE sync_jobs;
  END IF;
  IF EXISTS (SELECT FROM signals) THEN
    TRUNCATE signals;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER truncate_owned AFTER TRUNCATE ON connections
  FOR EACH STATEMENT EXECUTE FUNCTION truncate_owned();

CREATE FUNCTION keep_connection_id() RETURNS trigger LANGUAGE plpgsql
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  owned text := CASE
    WHEN EXISTS (SELECT FROM sync_jobs WHERE connection_id = OLD.id AND status IN ('queued', 'running'))
      OR EXISTS (
        SELECT FROM sync_jobs
        WHERE connection_id = OLD.id AND status IN ('succeeded', 'failed', 'cancelled', 'completed'))
      THEN 'sync_jobs'
    WHEN EXISTS (SELECT FROM signals WHERE connection_id = OLD.id) THEN 'signals'
  END;
BEGIN
  IF owned IS NOT NULL THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('update or delete on table "connections" violates foreign key constraint '
        '"%1$s_connection_id_fkey" on table "%1$s"', owned),
      DETAIL = format('Key (id)=(%s) is still referenced from table "%s".', OLD.id, owned),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = owned, CONSTRAINT = owned || '_connection_id_fkey';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_connection_id AFTER UPDATE OF id ON connections
  FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION keep_connection_id();

-- Rechecks the status: a job cancelled after the lookup stays cancelled.
CREATE OR REPLACE FUNCTION unblock_siblings(connection_ids uuid[]) RETURNS void
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
    UPDATE sync_jobs SET blocked = false WHERE id = ANY (siblings) AND status = 'queued';
    PERFORM wake_executors('jobs');
  END IF;
END $$;

-- Also for a job that ended blocked and is requeued: its blocker may have ended.
CREATE OR REPLACE FUNCTION unblock_after_update() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM unblock_siblings(array_agg(connection_id)) FROM (
    (SELECT connection_id FROM old_jobs WHERE status = 'running'
     EXCEPT
     SELECT connection_id FROM new_jobs WHERE status = 'running')
    UNION
    SELECT connection_id FROM (
      SELECT id, connection_id FROM new_jobs WHERE status = 'queued' AND blocked
      EXCEPT
      SELECT id, connection_id FROM old_jobs WHERE status = 'queued') requeued
  ) released
  HAVING count(*) > 0;
  RETURN NULL;
END $$;
