-- connection_lookup serves their reads. Not in the fill: processes read it from version 15, before the
-- indexes disappear.
DROP INDEX idx_connections_tenant;
DROP INDEX idx_connections_external;
ALTER TABLE connections DROP CONSTRAINT connections_tenant_id_fkey;
DROP PROCEDURE fill_connection_lookup();
