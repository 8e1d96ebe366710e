import type { PartRow } from './shape.ts';

type Part = Omit<PartRow, 'broken'>;

const parseDefinition =
  (pattern: RegExp) =>
  (definition: string): Part => {
    const [, name = '', table_name = ''] = pattern.exec(definition) ?? [];
    return { table_name, name, definition };
  };
const index = parseDefinition(/INDEX (\S+) ON (\S+)/);
const trigger = parseDefinition(/TRIGGER (\S+) .*? ON (\S+)/);

const constraintsOf = (table_name: string, definitions: Record<string, string>): Part[] =>
  Object.entries(definitions).map(([name, definition]) => ({ table_name, name, definition }));

/**
 * The migrated schema as Postgres prints it. A test compares them: change both together. Definitions serve to
 * recreate missing parts.
 */
export const expectedShape: {
  indexes: readonly Part[];
  triggers: readonly Part[];
  constraints: readonly Part[];
  functions: readonly string[];
} = {
  indexes: [
    'CREATE UNIQUE INDEX idx_api_keys_name ON api_keys USING btree (tenant_id, name) NULLS NOT DISTINCT WHERE (revoked_at IS NULL)',
    'CREATE INDEX idx_api_keys_parent ON api_keys USING btree (parent_id) WHERE (parent_id IS NOT NULL)',
    'CREATE INDEX idx_api_keys_tenant ON api_keys USING btree (tenant_id, id)',
    'CREATE INDEX idx_authorizations_connection ON authorizations USING btree (connection_id)',
    'CREATE INDEX idx_authorizations_expires ON authorizations USING btree (expires_at)',
    'CREATE INDEX idx_budgets_credential ON budgets USING btree (credential_id, key)',
    'CREATE INDEX idx_budgets_resets ON budgets USING btree (resets_at)',
    'CREATE INDEX idx_budgets_tenant ON budgets USING btree (tenant_id, key)',
    'CREATE INDEX idx_connections_credential ON connections USING btree (credential_id) WHERE (credential_id IS NOT NULL)',
    "CREATE INDEX idx_connections_due ON connections USING btree (due_at, id) WHERE ((status = 'active'::text) AND (NOT waits_for_job))",
    'CREATE INDEX idx_connections_external ON connections USING btree (external_id text_pattern_ops) WHERE (external_id IS NOT NULL)',
    'CREATE INDEX idx_connections_failing ON connections USING btree (id) WHERE (failing_since IS NOT NULL)',
    "CREATE INDEX idx_connections_inactive ON connections USING btree (status, id) WHERE (status <> 'active'::text)",
    'CREATE INDEX idx_connections_losses ON connections USING btree (id) WHERE (losses IS NOT NULL)',
    'CREATE INDEX idx_connections_tenant ON connections USING btree (tenant_id, id)',
    'CREATE INDEX idx_deletions_finished ON deletions USING btree (finished_at) WHERE (finished_at IS NOT NULL)',
    'CREATE INDEX idx_deletions_open ON deletions USING btree (updated_at) WHERE (finished_at IS NULL)',
    'CREATE INDEX idx_events_connection ON events USING btree (connection_id, id)',
    'CREATE INDEX idx_events_created ON events USING btree (created_at)',
    'CREATE INDEX idx_events_key ON events USING btree (key_id, id) WHERE (key_id IS NOT NULL)',
    'CREATE INDEX idx_events_tenant ON events USING btree (tenant_id, id)',
    'CREATE UNIQUE INDEX idx_feed_position ON feed USING btree ("position") WHERE ("position" IS NOT NULL)',
    'CREATE INDEX idx_rollups_fine ON rollups USING btree (minute) WHERE (slot >= 0)',
    'CREATE INDEX idx_rollups_hours ON rollups USING btree (minute) WHERE (slot < 0)',
    'CREATE INDEX idx_sessions_expires ON sessions USING btree (expires_at)',
    'CREATE INDEX idx_sessions_key ON sessions USING btree (key_id) WHERE (key_id IS NOT NULL)',
    'CREATE INDEX idx_signals_batch ON signals USING btree (batch, tenant_id, id)',
    'CREATE INDEX idx_signals_connection ON signals USING btree (connection_id, received_at)',
    'CREATE UNIQUE INDEX idx_signals_dedupe ON signals USING btree (connection_id, dedupe_key) WHERE (dedupe_key IS NOT NULL)',
    'CREATE INDEX idx_signals_tenant ON signals USING btree (tenant_id, id)',
    "CREATE INDEX idx_sync_jobs_blocked ON sync_jobs USING btree (connection_id) WHERE ((status = 'queued'::text) AND blocked)",
    "CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs USING btree (connection_id, job_type) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]))",
    "CREATE INDEX idx_sync_jobs_ended ON sync_jobs USING btree (COALESCE(finished_at, updated_at)) WHERE (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text]))",
    "CREATE INDEX idx_sync_jobs_failed ON sync_jobs USING btree (id) WHERE (status = 'failed'::text)",
    "CREATE INDEX idx_sync_jobs_failed_tenant ON sync_jobs USING btree (tenant_id, id) WHERE (status = 'failed'::text)",
    'CREATE INDEX idx_sync_jobs_history ON sync_jobs USING btree (connection_id, COALESCE(finished_at, updated_at))',
    "CREATE INDEX idx_sync_jobs_ready ON sync_jobs USING btree (provider_slug, priority, scheduled_at) WHERE ((status = 'queued'::text) AND (NOT blocked) AND (retry_after IS NULL))",
    "CREATE INDEX idx_sync_jobs_retry ON sync_jobs USING btree (provider_slug, retry_after) WHERE ((status = 'queued'::text) AND (NOT blocked) AND (retry_after IS NOT NULL))",
    "CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs USING btree (connection_id) WHERE (status = 'running'::text)",
    'CREATE INDEX idx_sync_jobs_tenant ON sync_jobs USING btree (tenant_id, id)',
    'CREATE INDEX idx_tenants_name ON tenants USING btree (lower(name) text_pattern_ops)',
  ].map(index),
  triggers: [
    'CREATE TRIGGER after_status AFTER UPDATE OF status ON connections FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION after_connection_status()',
    'CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON feed DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new."position" IS NULL)) EXECUTE FUNCTION give_position()',
    'CREATE TRIGGER prove_feed_start BEFORE UPDATE OF "position" ON feed_start FOR EACH ROW WHEN ((new."position" <> old."position")) EXECUTE FUNCTION prove_feed_start()',
    'CREATE TRIGGER enter_feed AFTER INSERT ON signals REFERENCING NEW TABLE AS new_signals FOR EACH STATEMENT EXECUTE FUNCTION enter_feed()',
    'CREATE TRIGGER after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_delete()',
    "CREATE TRIGGER after_insert AFTER INSERT ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION after_sync_jobs_insert()",
    'CREATE TRIGGER after_truncate AFTER TRUNCATE ON sync_jobs FOR EACH STATEMENT EXECUTE FUNCTION after_sync_jobs_truncate()',
    "CREATE TRIGGER after_update AFTER UPDATE ON sync_jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION after_sync_jobs_update()",
    "CREATE TRIGGER block_after_insert AFTER INSERT ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION block_sync_jobs()",
    "CREATE TRIGGER block_after_update AFTER UPDATE ON sync_jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION block_sync_jobs()",
    'CREATE TRIGGER forget_after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION forget_attempts()',
    'CREATE TRIGGER forget_after_truncate AFTER TRUNCATE ON sync_jobs FOR EACH STATEMENT EXECUTE FUNCTION forget_attempts()',
    'CREATE TRIGGER unblock_after_delete AFTER DELETE ON sync_jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION unblock_after_delete()',
    "CREATE TRIGGER unblock_after_update AFTER UPDATE ON sync_jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT WHEN ((current_setting('triggers'::text, true) IS DISTINCT FROM 'off'::text)) EXECUTE FUNCTION unblock_after_update()",
  ].map(trigger),
  constraints: [
    ...constraintsOf('api_keys', {
      api_keys_hash_key: 'UNIQUE (hash)',
      api_keys_parent_id_fkey: 'FOREIGN KEY (parent_id) REFERENCES api_keys(id) ON DELETE SET NULL',
      api_keys_pkey: 'PRIMARY KEY (id)',
      api_keys_tenant_id_fkey: 'FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE',
    }),
    ...constraintsOf('attempts', {
      attempts_outcome_check:
        "CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'retried'::text, 'lost'::text])))",
      attempts_pkey: 'PRIMARY KEY (job_id, claim_id)',
    }),
    ...constraintsOf('authorizations', {
      authorizations_connection_id_fkey:
        'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
      authorizations_pkey: 'PRIMARY KEY (state)',
      authorizations_provider_state_key: 'UNIQUE (provider_state)',
    }),
    ...constraintsOf('budgets', {
      budgets_most_check: 'CHECK ((most > 0))',
      budgets_period_seconds_check: 'CHECK ((period_seconds > 0))',
      budgets_pkey: 'PRIMARY KEY (key)',
    }),
    ...constraintsOf('connections', {
      connections_credential: 'FOREIGN KEY (tenant_id, credential_id) REFERENCES credentials(tenant_id, id)',
      connections_pkey: 'PRIMARY KEY (id)',
      connections_provider_slug_fkey: 'FOREIGN KEY (provider_slug) REFERENCES providers(slug)',
      connections_status_check:
        "CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'needs_auth'::text, 'disabled'::text])))",
      connections_tenant_id_fkey: 'FOREIGN KEY (tenant_id) REFERENCES tenants(id)',
    }),
    ...constraintsOf('consumers', {
      consumers_pkey: 'PRIMARY KEY (tenant_id, name)',
    }),
    ...constraintsOf('credentials', {
      credentials_kind_check:
        "CHECK ((kind = ANY (ARRAY['api_key'::text, 'basic'::text, 'oauth2'::text, 'custom'::text])))",
      credentials_pkey: 'PRIMARY KEY (id)',
      credentials_provider_slug_fkey: 'FOREIGN KEY (provider_slug) REFERENCES providers(slug)',
      credentials_tenant_id_fkey: 'FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE',
      credentials_tenant_id_id_key: 'UNIQUE (tenant_id, id)',
    }),
    ...constraintsOf('deletions', {
      deletions_pkey: 'PRIMARY KEY (connection_id)',
    }),
    ...constraintsOf('events', {
      events_pkey: 'PRIMARY KEY (id)',
    }),
    ...constraintsOf('feed', {
      feed_pkey: 'PRIMARY KEY (batch)',
    }),
    ...constraintsOf('processes', {
      processes_pkey: 'PRIMARY KEY (id)',
    }),
    ...constraintsOf('providers', {
      providers_pkey: 'PRIMARY KEY (slug)',
    }),
    ...constraintsOf('rollups', {
      rollups_pkey: 'PRIMARY KEY (tenant_id, minute, provider_slug, slot)',
    }),
    ...constraintsOf('schedulers', {
      schedulers_pkey: 'PRIMARY KEY (id)',
    }),
    ...constraintsOf('schema_migrations', {
      schema_migrations_pkey: 'PRIMARY KEY (version)',
    }),
    ...constraintsOf('sessions', {
      sessions_key_id_fkey: 'FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE',
      sessions_pkey: 'PRIMARY KEY (hash)',
    }),
    ...constraintsOf('signals', {
      signals_connection_id_fkey: 'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
      signals_pkey: 'PRIMARY KEY (id)',
    }),
    ...constraintsOf('sync_jobs', {
      sync_jobs_connection_id_fkey:
        'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
      sync_jobs_job_type_check:
        "CHECK ((job_type = ANY (ARRAY['incremental'::text, 'full'::text, 'webhook'::text])))",
      sync_jobs_pkey: 'PRIMARY KEY (id)',
      sync_jobs_status_check:
        "CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'completed'::text])))",
    }),
    ...constraintsOf('tenants', {
      tenants_pkey: 'PRIMARY KEY (id)',
    }),
    ...constraintsOf('webhooks', {
      webhooks_connection_id_fkey: 'FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE',
      webhooks_pkey: 'PRIMARY KEY (connection_id)',
    }),
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
    'prove_feed_start',
    'release_connections',
    'repair_feed',
    'signal_batch',
    'time_ordered_id',
    'unblock_after_delete',
    'unblock_after_update',
    'unblock_siblings',
    'wake_executors',
  ],
};
