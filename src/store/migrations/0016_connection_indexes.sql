-- connection_lookup serves their reads. Apart from the fill: processes read connection_lookup from version
-- 15 on, before the indexes disappear.
DROP INDEX idx_connections_tenant;
DROP INDEX idx_connections_external;
ALTER TABLE connections DROP CONSTRAINT connections_tenant_id_fkey;
DROP PROCEDURE fill_connection_lookup();
