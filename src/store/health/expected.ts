import type { PartRow } from './shape.ts';

type Part = Omit<PartRow, 'broken'>;

const part = (table_name: string, name: string, definition: string): Part => ({
  table_name,
  name,
  definition,
});

/**
 * What the migrations make, as Postgres tells it. A test compares this with a migrated database: change both together. Definitions are
 * here so that what is missing can be made again.
 */
export const expectedShape: {
  indexes: readonly Part[];
  triggers: readonly Part[];
  constraints: readonly Part[];
  functions: readonly string[];
} = {
  indexes: [
    part(
      'api_keys',
      'idx_api_keys_tenant',
      'CREATE INDEX idx_api_keys_tenant ON api_keys USING btree (tenant_id, id)',
    ),
    part(
      'authorizations',
      'idx_authorizations_connection',
      'CREATE INDEX idx_authorizations_connection ON authorizations USING btree (connection_id)',
    ),
    part(
      'authorizations',
      'idx_authorizations_expires',
      'CREATE INDEX idx_authorizations_expires ON authorizations USING btree (expires_at)',
    ),
    part(
      'budgets',
      'idx_budgets_credential',
      'CREATE INDEX idx_budgets_credential ON budgets USING btree (credential_id, key)',
    ),
    part(
      'budgets',
      'idx_budgets_resets',
      'CREATE INDEX idx_budgets_resets ON budgets USING btree (resets_at)',
    ),
    part(
      'budgets',
      'idx_budgets_tenant',
      'CREATE INDEX idx_budgets_tenant ON budgets USING btree (tenant_id, key)',
    ),
    part(
      'connections',
      'idx_connections_credential',
      'CREATE INDEX idx_connections_credential ON connections USING btree (credential_id) WHERE (credential_id IS NOT NULL)',
    ),
    part(
      'connections',
      'idx_connections_due',
      "CREATE INDEX idx_connections_due ON connections USING btree (due_at, id) WHERE ((status = 'active'::text) AND (NOT waits_for_job))",
    ),
    part(
      'connections',
      'idx_connections_external',
      'CREATE INDEX idx_connections_external ON connections USING btree (external_id text_pattern_ops) WHERE (external_id IS NOT NULL)',
    ),
    part(
      'connections',
      'idx_connections_failing',
      'CREATE INDEX idx_connections_failing ON connections USING btree (id) WHERE (failing_since IS NOT NULL)',
    ),
    part(
      'connections',
      'idx_connections_inactive',
      "CREATE INDEX idx_connections_inactive ON connections USING btree (status, id) WHERE (status <> 'active'::text)",
    ),
    part(
      'connections',
      'idx_connections_tenant',
      'CREATE INDEX idx_connections_tenant ON connections USING btree (tenant_id, id)',
    ),
    part(
      'events',
      'idx_events_connection',
      'CREATE INDEX idx_events_connection ON events USING btree (connection_id, id)',
    ),
    part(
      'events',
      'idx_events_created',
      'CREATE INDEX idx_events_created ON events USING btree (created_at)',
    ),
    part(
      'events',
      'idx_events_tenant',
      'CREATE INDEX idx_events_tenant ON events USING btree (tenant_id, id)',
    ),
    part(
      'feed',
      'idx_feed_position',
      'CREATE UNIQUE INDEX idx_feed_position ON feed USING btree ("position") WHERE ("position" IS NOT NULL)',
    ),
    part(
      'rollups',
      'idx_rollups_fine',
      'CREATE INDEX idx_rollups_fine ON rollups USING btree (minute) WHERE (slot >= 0)',
    ),
    part(
      'rollups',
      'idx_rollups_hours',
      'CREATE INDEX idx_rollups_hours ON rollups USING btree (minute) WHERE (slot < 0)',
    ),
    part(
      'sessions',
      'idx_sessions_expires',
      'CREATE INDEX idx_sessions_expires ON sessions USING btree (expires_at)',
    ),
    part(
      'signals',
      'idx_signals_batch',
      'CREATE INDEX idx_signals_batch ON signals USING btree (batch, tenant_id, id)',
    ),
    part(
      'signals',
      'idx_signals_connection',
      'CREATE INDEX idx_signals_connection ON signals USING btree (connection_id, received_at)',
    ),
    part(
      'signals',
      'idx_signals_dedupe',
      'CREATE UNIQUE INDEX idx_signals_dedupe ON signals USING btree (connection_id, dedupe_key) WHERE (dedupe_key IS NOT NULL)',
    ),
    part(
      'signals',
      'idx_signals_tenant',
      'CREATE INDEX idx_signals_tenant ON signals USING btree (tenant_id, id)',
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_blocked',
      "CREATE INDEX idx_sync_jobs_blocked ON sync_jobs USING btree (connection_id) WHERE ((status = 'queued'::text) AND blocked)",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_connection_type_status',
      "CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs USING btree (connection_id, job_type) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]))",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_ended',
      "CREATE INDEX idx_sync_jobs_ended ON sync_jobs USING btree (COALESCE(finished_at, updated_at)) WHERE (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text]))",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_failed',
      "CREATE INDEX idx_sync_jobs_failed ON sync_jobs USING btree (id) WHERE (status = 'failed'::text)",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_failed_tenant',
      "CREATE INDEX idx_sync_jobs_failed_tenant ON sync_jobs USING btree (tenant_id, id) WHERE (status = 'failed'::text)",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_history',
      'CREATE INDEX idx_sync_jobs_history ON sync_jobs USING btree (connection_id, COALESCE(finished_at, updated_at))',
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_ready',
      "CREATE INDEX idx_sync_jobs_ready ON sync_jobs USING btree (provider_slug, priority, scheduled_at) WHERE ((status = 'queued'::text) AND (NOT blocked) AND (retry_after IS NULL))",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_retry',
      "CREATE INDEX idx_sync_jobs_retry ON sync_jobs USING btree (provider_slug, retry_after) WHERE ((status = 'queued'::text) AND (NOT blocked) AND (retry_after IS NOT NULL))",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_running',
      "CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs USING btree (connection_id) WHERE (status = 'running'::text)",
    ),
    part(
      'sync_jobs',
      'idx_sync_jobs_tenant',
      'CREATE INDEX idx_sync_jobs_tenant ON sync_jobs USING btree (tenant_id, id)',
    ),
    part(
      'tenants',
      'idx_tenants_name',
      'CREATE INDEX idx_tenants_name ON tenants USING btree (lower(name) text_pattern_ops)',
    ),
  ],
  triggers: [
    part(
      'connections',
      'after_status',
      'CREATE TRIGGER after_status AFTER UPDATE OF status ON connections FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION after_connection_status()',
    ),
    part(
      'feed',
      'give_position',
      'CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON feed DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new."position" IS NULL)) EXECUTE FUNCTION give_position()',
    ),
    part(
      'signals',
      'enter_feed',
      'CREATE TRIGGER enter_feed AFTER INSERT ON signals REFERENCING NEW TABLE AS new_signals FOR EACH STATEMENT EXECUTE FUNCTION enter_feed()',
    ),
    part(
      'sync_jobs',
      'after_delete',
      'CREATE TRIGGER after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_delete()',
    ),
    part(
      'sync_jobs',
      'after_insert',
      "CREATE TRIGGER after_insert AFTER INSERT ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION after_sync_jobs_insert()",
    ),
    part(
      'sync_jobs',
      'after_truncate',
      'CREATE TRIGGER after_truncate AFTER TRUNCATE ON sync_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_truncate()',
    ),
    part(
      'sync_jobs',
      'after_update',
      "CREATE TRIGGER after_update AFTER UPDATE ON sync_jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION after_sync_jobs_update()",
    ),
    part(
      'sync_jobs',
      'block_after_insert',
      "CREATE TRIGGER block_after_insert AFTER INSERT ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION block_sync_jobs()",
    ),
    part(
      'sync_jobs',
      'block_after_update',
      "CREATE TRIGGER block_after_update AFTER UPDATE ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION block_sync_jobs()",
    ),
    part(
      'sync_jobs',
      'forget_after_delete',
      'CREATE TRIGGER forget_after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION forget_attempts()',
    ),
    part(
      'sync_jobs',
      'forget_after_truncate',
      'CREATE TRIGGER forget_after_truncate AFTER TRUNCATE ON sync_jobs FOR EACH STATEMENT EXECUTE FUNCTION forget_attempts()',
    ),
    part(
      'sync_jobs',
      'unblock_after_delete',
      'CREATE TRIGGER unblock_after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION unblock_after_delete()',
    ),
    part(
      'sync_jobs',
      'unblock_after_update',
      "CREATE TRIGGER unblock_after_update AFTER UPDATE ON sync_jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION unblock_after_update()",
    ),
  ],
  constraints: [
    part('api_keys', 'api_keys_hash_key', 'UNIQUE (hash)'),
    part('api_keys', 'api_keys_pkey', 'PRIMARY KEY (id)'),
    part(
      'api_keys',
      'api_keys_tenant_id_fkey',
      'FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE',
    ),
    part(
      'attempts',
      'attempts_outcome_check',
      "CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'retried'::text, 'lost'::text])))",
    ),
    part('attempts', 'attempts_pkey', 'PRIMARY KEY (job_id, claim_id)'),
    part(
      'authorizations',
      'authorizations_connection_id_fkey',
      'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
    ),
    part('authorizations', 'authorizations_pkey', 'PRIMARY KEY (state)'),
    part('budgets', 'budgets_most_check', 'CHECK ((most > 0))'),
    part('budgets', 'budgets_period_seconds_check', 'CHECK ((period_seconds > 0))'),
    part('budgets', 'budgets_pkey', 'PRIMARY KEY (key)'),
    part(
      'connections',
      'connections_credential',
      'FOREIGN KEY (tenant_id, credential_id) REFERENCES credentials(tenant_id, id)',
    ),
    part('connections', 'connections_pkey', 'PRIMARY KEY (id)'),
    part(
      'connections',
      'connections_provider_slug_fkey',
      'FOREIGN KEY (provider_slug) REFERENCES providers(slug)',
    ),
    part(
      'connections',
      'connections_status_check',
      "CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'needs_auth'::text, 'disabled'::text])))",
    ),
    part('connections', 'connections_tenant_id_fkey', 'FOREIGN KEY (tenant_id) REFERENCES tenants(id)'),
    part('consumers', 'consumers_pkey', 'PRIMARY KEY (tenant_id, name)'),
    part(
      'credentials',
      'credentials_kind_check',
      "CHECK ((kind = ANY (ARRAY['api_key'::text, 'basic'::text, 'oauth2'::text, 'custom'::text])))",
    ),
    part('credentials', 'credentials_pkey', 'PRIMARY KEY (id)'),
    part(
      'credentials',
      'credentials_provider_slug_fkey',
      'FOREIGN KEY (provider_slug) REFERENCES providers(slug)',
    ),
    part(
      'credentials',
      'credentials_tenant_id_fkey',
      'FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE',
    ),
    part('credentials', 'credentials_tenant_id_id_key', 'UNIQUE (tenant_id, id)'),
    part('events', 'events_pkey', 'PRIMARY KEY (id)'),
    part('feed', 'feed_pkey', 'PRIMARY KEY (batch)'),
    part('processes', 'processes_pkey', 'PRIMARY KEY (id)'),
    part('providers', 'providers_pkey', 'PRIMARY KEY (slug)'),
    part('rollups', 'rollups_pkey', 'PRIMARY KEY (tenant_id, minute, provider_slug, slot)'),
    part('schedulers', 'schedulers_pkey', 'PRIMARY KEY (id)'),
    part('schema_migrations', 'schema_migrations_pkey', 'PRIMARY KEY (version)'),
    part(
      'sessions',
      'sessions_key_id_fkey',
      'FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE',
    ),
    part('sessions', 'sessions_pkey', 'PRIMARY KEY (hash)'),
    part(
      'signals',
      'signals_connection_id_fkey',
      'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
    ),
    part('signals', 'signals_pkey', 'PRIMARY KEY (id)'),
    part(
      'sync_jobs',
      'sync_jobs_connection_id_fkey',
      'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
    ),
    part(
      'sync_jobs',
      'sync_jobs_job_type_check',
      "CHECK ((job_type = ANY (ARRAY['incremental'::text, 'full'::text, 'webhook'::text])))",
    ),
    part('sync_jobs', 'sync_jobs_pkey', 'PRIMARY KEY (id)'),
    part(
      'sync_jobs',
      'sync_jobs_status_check',
      "CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text])))",
    ),
    part('tenants', 'tenants_pkey', 'PRIMARY KEY (id)'),
    part(
      'webhooks',
      'webhooks_connection_id_fkey',
      'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
    ),
    part('webhooks', 'webhooks_pkey', 'PRIMARY KEY (connection_id)'),
  ],
  functions: [
    'after_connection_status',
    'after_sync_jobs_delete',
    'after_sync_jobs_insert',
    'after_sync_jobs_truncate',
    'after_sync_jobs_update',
    'block_arrivals',
    'block_siblings',
    'block_sync_jobs',
    'enter_feed',
    'forget_attempts',
    'give_position',
    'parse_instant',
    'patch_sync',
    'release_connections',
    'signal_batch',
    'time_ordered_id',
    'unblock_after_delete',
    'unblock_after_update',
    'unblock_siblings',
    'wake_executors',
  ],
};
