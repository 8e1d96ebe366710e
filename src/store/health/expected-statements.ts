/**
 * Generated from a migrated database: `npx vitest run test/doctor/doctor.test.ts -u` writes this file.
 */
export const expectedStatements = `
CREATE UNIQUE INDEX idx_api_keys_name ON api_keys USING btree (tenant_id, name) NULLS NOT DISTINCT WHERE
  (revoked_at IS NULL);
CREATE INDEX idx_api_keys_parent ON api_keys USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX idx_api_keys_tenant ON api_keys USING btree (tenant_id, id);
CREATE INDEX idx_authorizations_connection ON authorizations USING btree (connection_id);
CREATE INDEX idx_authorizations_expires ON authorizations USING btree (expires_at);
CREATE INDEX idx_budgets_credential ON budgets USING btree (credential_id, key);
CREATE INDEX idx_budgets_resets ON budgets USING btree (resets_at);
CREATE INDEX idx_budgets_tenant ON budgets USING btree (tenant_id, key);
CREATE INDEX idx_connection_lookup_external ON connection_lookup USING btree (external_id text_pattern_ops)
  WHERE (external_id IS NOT NULL);
CREATE INDEX idx_connection_lookup_tenant ON connection_lookup USING btree (tenant_id, connection_id);
CREATE INDEX idx_connections_credential ON connections USING btree (credential_id) WHERE (credential_id IS
  NOT NULL);
CREATE INDEX idx_connections_due ON connections USING btree (due_at, id) WHERE ((status = 'active'::text)
  AND (NOT waits_for_job));
CREATE INDEX idx_connections_failing ON connections USING btree (id) WHERE (failing_since IS NOT NULL);
CREATE INDEX idx_connections_inactive ON connections USING btree (status, id) WHERE (status <>
  'active'::text);
CREATE INDEX idx_connections_losses ON connections USING btree (id) WHERE (losses IS NOT NULL);
CREATE INDEX idx_deletions_finished ON deletions USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX idx_deletions_open ON deletions USING btree (updated_at) WHERE (finished_at IS NULL);
CREATE INDEX idx_events_connection ON events USING btree (connection_id, id);
CREATE INDEX idx_events_created ON events USING btree (created_at);
CREATE INDEX idx_events_key ON events USING btree (key_id, id) WHERE (key_id IS NOT NULL);
CREATE INDEX idx_events_tenant ON events USING btree (tenant_id, id);
CREATE UNIQUE INDEX idx_feed_position ON feed USING btree ("position") WHERE ("position" IS NOT NULL);
CREATE INDEX idx_rollups_fine ON rollups USING btree (minute) WHERE (slot >= 0);
CREATE INDEX idx_rollups_hours ON rollups USING btree (minute) WHERE (slot < 0);
CREATE INDEX idx_sessions_expires ON sessions USING btree (expires_at);
CREATE INDEX idx_sessions_key ON sessions USING btree (key_id) WHERE (key_id IS NOT NULL);
CREATE INDEX idx_signals_batch ON signals USING btree (batch, tenant_id, id);
CREATE INDEX idx_signals_connection ON signals USING btree (connection_id, received_at);
CREATE UNIQUE INDEX idx_signals_dedupe ON signals USING btree (connection_id, dedupe_key) WHERE (dedupe_key
  IS NOT NULL);
CREATE INDEX idx_signals_tenant ON signals USING btree (tenant_id, id);
CREATE INDEX idx_sync_jobs_blocked ON sync_jobs USING btree (connection_id) WHERE ((status =
  'queued'::text) AND blocked);
CREATE INDEX idx_sync_jobs_connection_ended ON sync_jobs USING btree (connection_id, COALESCE(finished_at,
  updated_at)) WHERE (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text,
  'completed'::text]));
CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs USING btree (connection_id, job_type)
  WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX idx_sync_jobs_ended ON sync_jobs USING btree (COALESCE(finished_at, updated_at)) WHERE (status
  = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text]));
CREATE INDEX idx_sync_jobs_failed ON sync_jobs USING btree (id) WHERE (status = 'failed'::text);
CREATE INDEX idx_sync_jobs_failed_tenant ON sync_jobs USING btree (tenant_id, id) WHERE (status =
  'failed'::text);
CREATE INDEX idx_sync_jobs_ready ON sync_jobs USING btree (provider_slug, priority, scheduled_at) WHERE
  ((status = 'queued'::text) AND (NOT blocked) AND (retry_after IS NULL));
CREATE INDEX idx_sync_jobs_retry ON sync_jobs USING btree (provider_slug, retry_after) WHERE ((status =
  'queued'::text) AND (NOT blocked) AND (retry_after IS NOT NULL));
CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs USING btree (connection_id) WHERE (status =
  'running'::text);
CREATE INDEX idx_sync_jobs_tenant_ended ON sync_jobs USING btree (tenant_id, id) WHERE (status = ANY
  (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text]));
CREATE INDEX idx_tenants_name ON tenants USING btree (lower(name) text_pattern_ops);
CREATE TRIGGER skip_known_lookup BEFORE INSERT ON connection_lookup FOR EACH ROW WHEN (((pg_trigger_depth()
  = 0) AND (current_setting('session_replication_role'::text) = 'replica'::text))) EXECUTE FUNCTION
  skip_known_lookup();
CREATE TRIGGER after_status AFTER UPDATE OF status ON connections FOR EACH ROW WHEN ((old.status IS
  DISTINCT FROM new.status)) EXECUTE FUNCTION after_connection_status();
CREATE TRIGGER delete_owned AFTER DELETE ON connections FOR EACH ROW EXECUTE FUNCTION delete_owned();
CREATE TRIGGER derive_due_at_of_insert BEFORE INSERT ON connections FOR EACH ROW EXECUTE FUNCTION
  derive_due_at();
CREATE TRIGGER derive_due_at_of_update BEFORE UPDATE OF metadata, due_at ON connections FOR EACH ROW WHEN
  ((current_setting('syncline.due_at'::text, true) IS DISTINCT FROM 'written'::text)) EXECUTE FUNCTION
  derive_due_at();
CREATE TRIGGER keep_connection_id AFTER UPDATE OF id ON connections FOR EACH ROW WHEN ((old.id <> new.id))
  EXECUTE FUNCTION keep_connection_id();
CREATE TRIGGER truncate_owned AFTER TRUNCATE ON connections FOR EACH STATEMENT EXECUTE FUNCTION
  truncate_owned();
CREATE TRIGGER write_lookup_of_insert AFTER INSERT ON connections FOR EACH ROW EXECUTE FUNCTION
  write_connection_lookup();
CREATE TRIGGER write_lookup_of_update AFTER UPDATE OF id, tenant_id, external_id ON connections FOR EACH
  ROW WHEN (((old.id <> new.id) OR (old.tenant_id <> new.tenant_id) OR (old.external_id IS DISTINCT FROM
  new.external_id))) EXECUTE FUNCTION write_connection_lookup();
CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON feed DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((new."position" IS NULL)) EXECUTE FUNCTION give_position();
CREATE TRIGGER prove_feed_start BEFORE UPDATE OF "position" ON feed_start FOR EACH ROW WHEN
  ((new."position" <> old."position")) EXECUTE FUNCTION prove_feed_start();
CREATE TRIGGER enter_feed AFTER INSERT ON signals REFERENCING NEW TABLE AS new_signals FOR EACH STATEMENT
  EXECUTE FUNCTION enter_feed();
CREATE TRIGGER require_connection_of_insert AFTER INSERT ON signals FOR EACH ROW WHEN
  ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION
  require_connection();
CREATE TRIGGER require_connection_of_update AFTER UPDATE OF connection_id ON signals FOR EACH ROW WHEN
  ((old.connection_id <> new.connection_id)) EXECUTE FUNCTION require_connection();
CREATE TRIGGER after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT
  EXECUTE FUNCTION after_sync_jobs_delete();
CREATE TRIGGER after_insert AFTER INSERT ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT
  WHEN ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION
  after_sync_jobs_insert();
CREATE TRIGGER after_truncate AFTER TRUNCATE ON sync_jobs FOR EACH STATEMENT EXECUTE FUNCTION
  after_sync_jobs_truncate();
CREATE TRIGGER after_update AFTER UPDATE ON sync_jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS
  new_jobs FOR EACH STATEMENT WHEN ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM
  'off'::text)) EXECUTE FUNCTION after_sync_jobs_update();
CREATE TRIGGER block_after_insert AFTER INSERT ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH
  STATEMENT WHEN ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE
  FUNCTION block_sync_jobs();
CREATE TRIGGER block_after_update AFTER UPDATE ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH
  STATEMENT WHEN ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE
  FUNCTION block_sync_jobs();
CREATE TRIGGER forget_after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH
  STATEMENT EXECUTE FUNCTION forget_attempts();
CREATE TRIGGER forget_after_truncate AFTER TRUNCATE ON sync_jobs FOR EACH STATEMENT EXECUTE FUNCTION
  forget_attempts();
CREATE TRIGGER require_connection_of_insert AFTER INSERT ON sync_jobs FOR EACH ROW WHEN
  ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION
  require_connection();
CREATE TRIGGER require_connection_of_update AFTER UPDATE OF connection_id ON sync_jobs FOR EACH ROW WHEN
  ((old.connection_id <> new.connection_id)) EXECUTE FUNCTION require_connection();
CREATE TRIGGER unblock_after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH
  STATEMENT EXECUTE FUNCTION unblock_after_delete();
CREATE TRIGGER unblock_after_update AFTER UPDATE ON sync_jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE
  AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('syncline.triggers'::text, true) IS DISTINCT FROM
  'off'::text)) EXECUTE FUNCTION unblock_after_update();
ALTER TABLE api_keys ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES api_keys(id)
  ON DELETE SET NULL;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
  ON DELETE CASCADE;
ALTER TABLE attempts ADD CONSTRAINT attempts_outcome_check CHECK ((outcome = ANY (ARRAY['succeeded'::text,
  'failed'::text, 'retried'::text, 'lost'::text])));
ALTER TABLE attempts ADD CONSTRAINT attempts_pkey PRIMARY KEY (job_id, claim_id);
ALTER TABLE authorizations ADD CONSTRAINT authorizations_connection_id_fkey FOREIGN KEY (connection_id)
  REFERENCES connections(id) ON DELETE CASCADE;
ALTER TABLE authorizations ADD CONSTRAINT authorizations_pkey PRIMARY KEY (state);
ALTER TABLE authorizations ADD CONSTRAINT authorizations_provider_state_key UNIQUE (provider_state);
ALTER TABLE budgets ADD CONSTRAINT budgets_most_check CHECK ((most > 0));
ALTER TABLE budgets ADD CONSTRAINT budgets_period_seconds_check CHECK ((period_seconds > 0));
ALTER TABLE budgets ADD CONSTRAINT budgets_pkey PRIMARY KEY (key);
ALTER TABLE connection_lookup ADD CONSTRAINT connection_lookup_connection_id_fkey FOREIGN KEY
  (connection_id) REFERENCES connections(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE connection_lookup ADD CONSTRAINT connection_lookup_pkey PRIMARY KEY (connection_id);
ALTER TABLE connection_lookup ADD CONSTRAINT connection_lookup_tenant_id_fkey FOREIGN KEY (tenant_id)
  REFERENCES tenants(id);
ALTER TABLE connections ADD CONSTRAINT connections_credential FOREIGN KEY (tenant_id, credential_id)
  REFERENCES credentials(tenant_id, id);
ALTER TABLE connections ADD CONSTRAINT connections_pkey PRIMARY KEY (id);
ALTER TABLE connections ADD CONSTRAINT connections_provider_slug_fkey FOREIGN KEY (provider_slug)
  REFERENCES providers(slug);
ALTER TABLE connections ADD CONSTRAINT connections_status_check CHECK ((status = ANY (ARRAY['active'::text,
  'paused'::text, 'needs_auth'::text, 'disabled'::text])));
ALTER TABLE consumers ADD CONSTRAINT consumers_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE credentials ADD CONSTRAINT credentials_kind_check CHECK ((kind = ANY (ARRAY['api_key'::text,
  'basic'::text, 'oauth2'::text, 'custom'::text])));
ALTER TABLE credentials ADD CONSTRAINT credentials_pkey PRIMARY KEY (id);
ALTER TABLE credentials ADD CONSTRAINT credentials_provider_slug_fkey FOREIGN KEY (provider_slug)
  REFERENCES providers(slug);
ALTER TABLE credentials ADD CONSTRAINT credentials_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES
  tenants(id) ON DELETE CASCADE;
ALTER TABLE credentials ADD CONSTRAINT credentials_tenant_id_id_key UNIQUE (tenant_id, id);
ALTER TABLE deletions ADD CONSTRAINT deletions_pkey PRIMARY KEY (connection_id);
ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (id);
ALTER TABLE feed ADD CONSTRAINT feed_pkey PRIMARY KEY (batch);
ALTER TABLE processes ADD CONSTRAINT processes_pkey PRIMARY KEY (id);
ALTER TABLE providers ADD CONSTRAINT providers_pkey PRIMARY KEY (slug);
ALTER TABLE rollups ADD CONSTRAINT rollups_pkey PRIMARY KEY (tenant_id, minute, provider_slug, slot);
ALTER TABLE schedulers ADD CONSTRAINT schedulers_pkey PRIMARY KEY (id);
ALTER TABLE schema_migrations ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE sessions ADD CONSTRAINT sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON
  DELETE CASCADE;
ALTER TABLE sessions ADD CONSTRAINT sessions_pkey PRIMARY KEY (hash);
ALTER TABLE signals ADD CONSTRAINT signals_pkey PRIMARY KEY (id);
ALTER TABLE sync_jobs ADD CONSTRAINT sync_jobs_job_type_check CHECK ((job_type = ANY
  (ARRAY['incremental'::text, 'full'::text, 'webhook'::text])));
ALTER TABLE sync_jobs ADD CONSTRAINT sync_jobs_pkey PRIMARY KEY (id);
ALTER TABLE sync_jobs ADD CONSTRAINT sync_jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text,
  'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text])));
ALTER TABLE tenants ADD CONSTRAINT tenants_pkey PRIMARY KEY (id);
ALTER TABLE webhooks ADD CONSTRAINT webhooks_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES
  connections(id) ON DELETE CASCADE;
ALTER TABLE webhooks ADD CONSTRAINT webhooks_pkey PRIMARY KEY (connection_id);
CREATE FUNCTION after_connection_status;
CREATE FUNCTION after_sync_jobs_delete;
CREATE FUNCTION after_sync_jobs_insert;
CREATE FUNCTION after_sync_jobs_truncate;
CREATE FUNCTION after_sync_jobs_update;
CREATE FUNCTION block_arrivals;
CREATE FUNCTION block_siblings;
CREATE FUNCTION block_sync_jobs;
CREATE FUNCTION delete_owned;
CREATE FUNCTION derive_due_at;
CREATE FUNCTION enter_feed;
CREATE FUNCTION forget_attempts;
CREATE FUNCTION give_position;
CREATE FUNCTION keep_connection_id;
CREATE FUNCTION parse_instant;
CREATE FUNCTION patch_sync;
CREATE FUNCTION prove_feed_start;
CREATE FUNCTION release_connections;
CREATE FUNCTION repair_feed;
CREATE FUNCTION require_connection;
CREATE FUNCTION signal_batch;
CREATE FUNCTION skip_known_lookup;
CREATE FUNCTION time_ordered_id;
CREATE FUNCTION truncate_owned;
CREATE FUNCTION unblock_after_delete;
CREATE FUNCTION unblock_after_update;
CREATE FUNCTION unblock_siblings;
CREATE FUNCTION wake_executors;
CREATE FUNCTION write_connection_lookup;
`;
