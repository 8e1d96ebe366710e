-- No transaction: CREATE INDEX CONCURRENTLY does not block writers. Every command can be repeated.
--
-- A sync writes three versions of its job: three entries in an index of all jobs, one in an index of ended
-- ones. idx_sync_jobs_connection_type_status finds pending jobs, at most three per connection.
--
-- A connection's deletion, history, cursors, recent runs and last error.
DROP INDEX CONCURRENTLY IF EXISTS idx_sync_jobs_connection_ended;
CREATE INDEX CONCURRENTLY idx_sync_jobs_connection_ended ON sync_jobs (connection_id, coalesce(finished_at, updated_at)) WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed');
DROP INDEX CONCURRENTLY IF EXISTS idx_sync_jobs_history;

-- The jobs of a tenant, newest first.
DROP INDEX CONCURRENTLY IF EXISTS idx_sync_jobs_tenant_ended;
CREATE INDEX CONCURRENTLY idx_sync_jobs_tenant_ended ON sync_jobs (tenant_id, id) WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed');
DROP INDEX CONCURRENTLY IF EXISTS idx_sync_jobs_tenant;
