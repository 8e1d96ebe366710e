-- Which API key acted, logins and refused keys in the audit log, descendants of keys, and deletions that run in the background.

-- The key that acted. No foreign key: events outlive the keys of a deleted tenant.
ALTER TABLE events ADD COLUMN key_id uuid;
CREATE INDEX idx_events_key ON events (key_id, id) WHERE key_id IS NOT NULL;

-- The key that created a key, so that a leaked one can be revoked with everything that was made with it.
ALTER TABLE api_keys ADD COLUMN parent_id uuid REFERENCES api_keys (id) ON DELETE SET NULL;
CREATE INDEX idx_api_keys_parent ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX idx_sessions_key ON sessions (key_id) WHERE key_id IS NOT NULL;

-- Events name keys, so a name means one key: of the operator, or of a tenant. The oldest of several keeps its name. The
-- suffix is random: no name that exists, or was chosen to be in the way, can equal the new one.
UPDATE api_keys k SET name = left(k.name, 80) || ' (' || right(gen_random_uuid()::text, 12) || ')'
FROM (
  SELECT id, row_number() OVER (PARTITION BY tenant_id, name ORDER BY created_at, id) AS nth
  FROM api_keys WHERE revoked_at IS NULL) same
WHERE same.id = k.id AND same.nth > 1;
CREATE UNIQUE INDEX idx_api_keys_name ON api_keys (tenant_id, name) NULLS NOT DISTINCT WHERE revoked_at IS NULL;

-- A connection that is being deleted: its status is `disabled`, and nothing can be done to it any more.
ALTER TABLE connections ADD COLUMN deleting_since timestamptz;

-- Deletions of connections, with their progress and who requested them. A finished one stays for a week, so that its
-- requester sees the end. No foreign key: the row outlives its connection.
CREATE TABLE deletions (
  connection_id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  provider_slug text NOT NULL,
  external_id text,
  actor text NOT NULL,
  key_id uuid,
  reason text,
  estimated_signals bigint NOT NULL,
  deleted_signals bigint NOT NULL DEFAULT 0,
  -- Of the last batch that failed; it is tried again after 5 s.
  error text,
  requested_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  finished_at timestamptz
);
-- The one that has waited longest comes first, so that a large deletion does not hold up the others.
CREATE INDEX idx_deletions_open ON deletions (updated_at) WHERE finished_at IS NULL;
CREATE INDEX idx_deletions_finished ON deletions (finished_at) WHERE finished_at IS NOT NULL;
