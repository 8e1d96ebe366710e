-- Serves lists and searches: every placement moves due_at and so writes each index of connections; this table
-- changes only with tenant_id and external_id.
CREATE TABLE connection_lookup (
  connection_id uuid PRIMARY KEY REFERENCES connections (id) ON UPDATE CASCADE ON DELETE CASCADE,
  -- Not on connections, where deleting a tenant would need an index.
  tenant_id uuid NOT NULL REFERENCES tenants (id),
  external_id text
);
-- Pages of a tenant.
CREATE INDEX idx_connection_lookup_tenant ON connection_lookup (tenant_id, connection_id);
-- Search by prefix.
CREATE INDEX idx_connection_lookup_external ON connection_lookup (external_id text_pattern_ops)
  WHERE external_id IS NOT NULL;

-- SECURITY DEFINER: writers of connections need no privilege here. An update of a connection not yet copied
-- inserts its row.
CREATE FUNCTION write_connection_lookup() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO connection_lookup (connection_id, tenant_id, external_id)
  VALUES (NEW.id, NEW.tenant_id, NEW.external_id)
  ON CONFLICT (connection_id) DO UPDATE
    SET tenant_id = excluded.tenant_id, external_id = excluded.external_id;
  RETURN NULL;
END $$;

CREATE TRIGGER write_lookup_of_insert AFTER INSERT ON connections
  FOR EACH ROW EXECUTE FUNCTION write_connection_lookup();
CREATE TRIGGER write_lookup_of_update AFTER UPDATE OF id, tenant_id, external_id ON connections
  FOR EACH ROW
  WHEN (OLD.id <> NEW.id OR OLD.tenant_id <> NEW.tenant_id
    OR OLD.external_id IS DISTINCT FROM NEW.external_id)
  EXECUTE FUNCTION write_connection_lookup();
-- Also for replicated and bulk-loaded rows (session_replication_role).
ALTER TABLE connections ENABLE ALWAYS TRIGGER write_lookup_of_insert;
ALTER TABLE connections ENABLE ALWAYS TRIGGER write_lookup_of_update;

-- Replication of all tables delivers the row of the trigger a second time.
CREATE FUNCTION skip_known_lookup() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT FROM connection_lookup WHERE connection_id = NEW.connection_id) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER skip_known_lookup BEFORE INSERT ON connection_lookup
  FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND current_setting('session_replication_role') = 'replica')
  EXECUTE FUNCTION skip_known_lookup();
ALTER TABLE connection_lookup ENABLE ALWAYS TRIGGER skip_known_lookup;

-- For the next migration. KEY SHARE prevents deletion before the copy commits; a concurrent update's row is
-- newer and stays. Pages are read unlocked: a locked row may have a new id. Commits per batch, so deletes
-- wait for one; a single batch runs in a transaction block too.
CREATE PROCEDURE fill_connection_lookup() LANGUAGE plpgsql AS $$
DECLARE
  batch_size CONSTANT integer := 2000;
  start uuid := '00000000-0000-0000-0000-000000000000';
  copied integer;
BEGIN
  LOOP
    WITH page AS MATERIALIZED (
      SELECT id FROM connections WHERE id >= start ORDER BY id LIMIT batch_size
    ), batch AS MATERIALIZED (
      SELECT id, tenant_id, external_id FROM connections
      WHERE id = ANY (ARRAY(SELECT id FROM page)) ORDER BY id FOR KEY SHARE
    ), written AS (
      INSERT INTO connection_lookup (connection_id, tenant_id, external_id)
      SELECT id, tenant_id, external_id FROM batch ON CONFLICT DO NOTHING
    )
    SELECT (SELECT count(*) FROM page), (SELECT id FROM page ORDER BY id DESC LIMIT 1) INTO copied, start;
    EXIT WHEN copied < batch_size;
    COMMIT;
  END LOOP;
END $$;
