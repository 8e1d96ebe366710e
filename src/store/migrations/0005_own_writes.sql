-- The triggers on sync_jobs carry over to connections, and to jobs that wait, whatever anybody writes. Claims, commits and
-- placements of the engine do the same in the statements that they send anyway, and say so (`syncline.triggers`, for their
-- transaction only): of 130 µs that a run took, the triggers took 25 to find out that there was nothing left to do.
CREATE OR REPLACE TRIGGER after_insert AFTER INSERT ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION after_sync_jobs_insert();
CREATE OR REPLACE TRIGGER after_update AFTER UPDATE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION after_sync_jobs_update();
CREATE OR REPLACE TRIGGER block_after_insert AFTER INSERT ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION block_sync_jobs();
CREATE OR REPLACE TRIGGER block_after_update AFTER UPDATE ON sync_jobs
  REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION block_sync_jobs();
CREATE OR REPLACE TRIGGER unblock_after_update AFTER UPDATE ON sync_jobs
  REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN (current_setting('syncline.triggers', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION unblock_after_update();
