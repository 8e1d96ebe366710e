type Sql = (text: string) => Promise<Record<string, unknown>[]>;

const connections = 3000;

/**
 * Rows of every table in the proportions of a production database: most connections are active and healthy, most
 * jobs have succeeded. The planner's choice between two indexes depends on these proportions.
 */
export async function fillRealistically(sql: Sql): Promise<void> {
  for (const text of [owners, accounts, jobs, laterJobs, signals, statistics, callers, providersSide])
    await sql(text);
  const [row] = await sql(
    `SELECT string_agg(format('%I', relname), ', ') AS tables FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  );
  await sql(`VACUUM ANALYZE ${row?.['tables']}`);
}

const tenantOf = (n: string) => `md5('tenant ' || ${n} % 100)::uuid`;
const providerOf = (n: string) => `'provider-' || ${n} % 10`;
const connectionOf = (n: string) => `md5('connection ' || ${n})::uuid`;
const keyOf = (n: string) => `md5('key ' || ${n})::uuid`;

const owners = `
  INSERT INTO tenants (id, name) SELECT ${tenantOf('n')}, 'Tenant ' || n FROM generate_series(0, 99) n;
  INSERT INTO providers (slug) SELECT ${providerOf('n')} FROM generate_series(0, 9) n;
  INSERT INTO credentials (id, tenant_id, provider_slug, kind, key_id, sealed, created_at, updated_at)
  SELECT md5('credential ' || n)::uuid, ${tenantOf('n')}, ${providerOf('n')}, 'oauth2', 'main', '\\x00', now(), now()
  FROM generate_series(1, 500) n`;

const accounts = `
  INSERT INTO connections (id, tenant_id, provider_slug, external_id, status, metadata, credential_id)
  SELECT ${connectionOf('n')}, ${tenantOf('n')}, ${providerOf('n')}, 'account-' || n,
    CASE WHEN n % 100 = 1 THEN 'paused' WHEN n % 100 = 2 THEN 'needs_auth' WHEN n % 500 = 3 THEN 'disabled'
      ELSE 'active' END,
    jsonb_build_object('sync', jsonb_build_object('next_run_at', to_char(
      (now() + (n % 900 - 10) * interval '1 second') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
    CASE WHEN n <= 400 THEN md5('credential ' || n)::uuid END
  FROM generate_series(1, ${connections}) n;
  UPDATE connections SET failing_since = now(), failure = 'transient' WHERE external_id LIKE 'account-%77';
  UPDATE connections SET losses = '[{"at":"2025-01-01T00:00:00Z"}]' WHERE external_id LIKE 'account-%999'`;

/** Ended jobs of the past days; a few failed or were cancelled. */
const jobs = `
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, started_at,
    finished_at, updated_at, signal_count, next_cursor)
  SELECT ${tenantOf('n')}, ${providerOf('n')}, ${connectionOf('n')}, CASE n % 50 WHEN 0 THEN 'full' ELSE 'incremental' END,
    CASE WHEN n % 200 = 5 THEN 'failed' WHEN n % 200 = 6 THEN 'cancelled' WHEN n % 200 = 7 THEN 'completed'
      ELSE 'succeeded' END,
    ended, ended, ended, ended, 2, '{"page":1}'
  FROM generate_series(1, ${connections}) n, generate_series(1, 4) run,
    LATERAL (SELECT now() - run * interval '1 day' - n * interval '1 second' AS ended) times;
  INSERT INTO attempts (job_id, claim_id, outcome, started_at, ended_at)
  SELECT id, gen_random_uuid(), 'failed', now(), now() FROM sync_jobs WHERE status = 'failed'`;

/** Queued, in backoff, running, and blocked by a running job or by the status of the connection. */
const laterJobs = `
  INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
  SELECT md5('process ' || n)::uuid, 'host', n, 10, ARRAY[${providerOf('n')}], now(), now() + interval '30 s'
  FROM generate_series(1, 4) n;
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, priority, scheduled_at, retry_after,
    process_id, claim_id, started_at)
  SELECT ${tenantOf('n')}, ${providerOf('n')}, ${connectionOf('n')}, 'incremental',
    CASE n % 40 WHEN 9 THEN 'running' ELSE 'queued' END, CASE n % 20 WHEN 0 THEN 10 ELSE 0 END,
    now() + (n % 120 - 60) * interval '1 second',
    CASE n % 40 WHEN 17 THEN now() + (n % 300) * interval '1 second' END,
    CASE n % 40 WHEN 9 THEN md5('process ' || (n % 4 + 1))::uuid END,
    CASE n % 40 WHEN 9 THEN gen_random_uuid() END, CASE n % 40 WHEN 9 THEN now() END
  FROM generate_series(1, ${connections}, 2) n;
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type)
  SELECT tenant_id, provider_slug, connection_id, 'full' FROM sync_jobs WHERE status = 'running' LIMIT 20;
  UPDATE connections c SET waits_for_job = true
  WHERE due_at < now() AND id IN (SELECT connection_id FROM sync_jobs WHERE status = 'queued')`;

const signals = `
  INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload, dedupe_key, batch)
  SELECT ${tenantOf('n')}, ${providerOf('n')}, ${connectionOf('n')}, 'issue.opened', now(),
    now() - run * interval '1 day', '{}', CASE WHEN n % 2 = 0 THEN 'key ' || run END,
    md5('batch ' || run || '-' || n / 20)::uuid
  FROM generate_series(1, ${connections}) n, generate_series(1, 4) run;
  INSERT INTO consumers (tenant_id, name, after, created_at, moved_at)
  SELECT ${tenantOf('n')}, 'consumer ' || n, 'start', now(), now() FROM generate_series(1, 200) n`;

/** Two days by the hour, one day by the minute. */
const statistics = `
  INSERT INTO rollups SELECT ${tenantOf('n')}, minute, ${providerOf('n')}, slot, 1, 1, 1, 6,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
  FROM generate_series(0, 19) n, (
    SELECT date_trunc('hour', now()) - run * interval '1 hour', -1 FROM generate_series(24, 72) run
    UNION ALL SELECT date_trunc('minute', now()) - run * interval '1 minute', run % 4 FROM generate_series(0, 1440, 5) run
  ) AS times (minute, slot);
  INSERT INTO schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled)
  VALUES (md5('scheduler')::uuid, 'host', 1, now(), now(), 5, 3)`;

const callers = `
  INSERT INTO api_keys (id, tenant_id, name, prefix, hash, created_at, created_by, parent_id, revoked_at)
  SELECT ${keyOf('n')}, CASE WHEN n > 20 THEN ${tenantOf('n')} END, 'key ' || n, 'syn_' || n, sha256(n::text::bytea), now(),
    'cli', CASE WHEN n > 300 THEN ${keyOf('n % 300 + 1')} END, CASE WHEN n % 10 = 0 THEN now() END
  FROM generate_series(1, 1000) n;
  INSERT INTO sessions (hash, key_id, actor, created_at, expires_at)
  SELECT sha256(n::text::bytea), CASE WHEN n % 10 <> 0 THEN ${keyOf('n')} END, 'key', now(),
    now() + (n - 50) * interval '1 minute' FROM generate_series(1, 1000) n;
  INSERT INTO events (id, tenant_id, connection_id, kind, actor, created_at, key_id)
  SELECT time_ordered_id(), ${tenantOf('n')}, ${connectionOf(`n % ${connections} + 1`)}, 'connection.paused', 'key',
    now() - n * interval '1 minute', CASE WHEN n % 20 = 0 THEN ${keyOf('n % 1000 + 1')} END
  FROM generate_series(1, 10000) n;
  INSERT INTO deletions (connection_id, tenant_id, provider_slug, actor, estimated_signals, requested_at, updated_at,
    finished_at)
  SELECT md5('deleted ' || n)::uuid, ${tenantOf('n')}, ${providerOf('n')}, 'operator', 10, now(), now(),
    CASE WHEN n > 10 THEN now() - n * interval '1 hour' END FROM generate_series(1, 500) n`;

const providersSide = `
  INSERT INTO authorizations (state, connection_id, tenant_id, key_id, sealed, created_at, expires_at)
  SELECT sha256(n::text::bytea), ${connectionOf('n')}, ${tenantOf('n')}, 'main', '\\x00', now(),
    now() + n * interval '1 second' FROM generate_series(1, 300) n;
  INSERT INTO budgets (key, tenant_id, provider_slug, credential_id, name, most, stated, period_seconds, opened_at,
    resets_at, opens_at)
  SELECT 'budget ' || n, CASE WHEN n > 10 THEN ${tenantOf('n')} END, ${providerOf('n')},
    CASE WHEN n > 10 THEN md5('credential ' || n % 500 + 1)::uuid END, 'api', 60, 60, 60, now(),
    now() + (n % 60) * interval '1 second', now() FROM generate_series(1, 1000) n;
  INSERT INTO webhooks (connection_id, tenant_id, key_id, sealed, created_at)
  SELECT ${connectionOf('n')}, ${tenantOf('n')}, 'main', '\\x00', now() FROM generate_series(1, 1000) n`;
