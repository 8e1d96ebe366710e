-- What opens a provider's API, encrypted. Several connections of a tenant may share one.
CREATE TABLE credentials (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
  provider_slug text NOT NULL REFERENCES providers (slug),
  name text,
  kind text NOT NULL CHECK (kind IN ('api_key', 'basic', 'oauth2', 'custom')),
  -- AES-256-GCM: which of the configured keys, and nonce, text and tag together. The row's id is part of what is authenticated.
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  -- Incremented by every change; holders of an older version compare it.
  generation integer NOT NULL DEFAULT 1,
  -- Of an access token.
  expires_at timestamptz,
  -- The provider rejected its refresh; no process retries until it is replaced.
  refused_at timestamptz,
  refused_reason text,
  refreshed_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  UNIQUE (tenant_id, id)
);

-- With the tenant, so that no connection can ever use another tenant's.
ALTER TABLE connections ADD COLUMN credential_id uuid,
  ADD CONSTRAINT connections_credential FOREIGN KEY (tenant_id, credential_id) REFERENCES credentials (tenant_id, id);
CREATE INDEX idx_connections_credential ON connections (credential_id) WHERE credential_id IS NOT NULL;

-- People who were sent to a provider to give their consent, and are not back yet. By the hash of the state they carry.
CREATE TABLE authorizations (
  state bytea PRIMARY KEY,
  connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
  tenant_id uuid NOT NULL,
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX idx_authorizations_expires ON authorizations (expires_at);
CREATE INDEX idx_authorizations_connection ON authorizations (connection_id);

-- How many requests the fleet may still send: a bucket that is filled anew whenever its window is over. Processes take
-- tokens in blocks. What may be given out is most - spent - drift - leased - carried.
CREATE TABLE budgets (
  key text COLLATE "C" PRIMARY KEY,
  -- None: shared by all tenants.
  tenant_id uuid,
  provider_slug text NOT NULL,
  -- No foreign keys: a row may outlive its credential by a week, and a violation would fail a
  -- transaction that changes many others.
  credential_id uuid,
  name text NOT NULL,
  most integer NOT NULL CHECK (most > 0),
  -- What the connector says the limit is; the provider's own word counts more.
  stated integer NOT NULL,
  period_seconds integer NOT NULL CHECK (period_seconds > 0),
  -- Counts the windows, so that what comes back late is known to be of an earlier one.
  window_number bigint NOT NULL DEFAULT 1,
  -- Answered requests of this window that processes have reported.
  spent integer NOT NULL DEFAULT 0,
  -- How much more the provider counts: other clients' requests, and those not yet reported.
  drift integer NOT NULL DEFAULT 0,
  -- Leased to processes and not yet reported.
  leased integer NOT NULL DEFAULT 0,
  -- The same, of the window before: requests that were under way when it ended may count in this one.
  carried integer NOT NULL DEFAULT 0,
  opened_at timestamptz NOT NULL,
  -- Until then its tokens may be spent; from `opens_at` on the next window may begin.
  resets_at timestamptz NOT NULL,
  opens_at timestamptz NOT NULL,
  -- When the provider itself last said how much is left.
  learned_at timestamptz
) WITH (fillfactor = 50);
CREATE INDEX idx_budgets_tenant ON budgets (tenant_id, key);
CREATE INDEX idx_budgets_credential ON budgets (credential_id, key);
-- Moves once in a window, so that everything else stays a HOT update.
CREATE INDEX idx_budgets_resets ON budgets (resets_at);

-- The secret with which a provider signs what it sends to a connection's webhook.
CREATE TABLE webhooks (
  connection_id uuid PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
  tenant_id uuid NOT NULL,
  key_id text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  last_received_at timestamptz
);

-- A provider sent a hint that the current walk may miss: one more run follows its last page. Cleared when a job
-- without a cursor of its own is claimed, since that begins afresh; kept by the next page and by another try.
ALTER TABLE sync_jobs ADD COLUMN hinted boolean NOT NULL DEFAULT false;
