-- connections.due_at becomes a plain column: generated, it called parse_instant (PL/pgSQL) in every cursor
-- write. The scheduler writes it; triggers derive it for other writers and the previous release, which does
-- not set `syncline.due_at`.
ALTER TABLE connections ALTER COLUMN due_at DROP EXPRESSION;
ALTER TABLE connections ALTER COLUMN due_at SET DEFAULT '-infinity';

CREATE FUNCTION derive_due_at() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.due_at := coalesce(parse_instant(NEW.metadata #>> '{sync,next_run_at}'), '-infinity');
  RETURN NEW;
END $$;

CREATE TRIGGER derive_due_at_of_insert BEFORE INSERT ON connections
  FOR EACH ROW EXECUTE FUNCTION derive_due_at();
CREATE TRIGGER derive_due_at_of_update BEFORE UPDATE OF metadata, due_at ON connections
  FOR EACH ROW WHEN (current_setting('syncline.due_at', true) IS DISTINCT FROM 'written')
  EXECUTE FUNCTION derive_due_at();
-- Also for replicated and bulk-loaded rows (session_replication_role).
ALTER TABLE connections ENABLE ALWAYS TRIGGER derive_due_at_of_insert;
ALTER TABLE connections ENABLE ALWAYS TRIGGER derive_due_at_of_update;
