import type { Config } from '../../src/config/settings.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations, type Migration } from '../../src/store/migrations.inline.ts';
import { previousVersion } from '../../src/store/schema-version.ts';

const nextVersion = (knownMigrations.at(-1)?.version ?? 0) + 1;

/** Of a future release. */
export const futureMigrations: readonly Migration[] = [
  {
    version: nextVersion,
    name: 'future_column',
    sql: `ALTER TABLE sync_jobs ADD COLUMN of_the_future text;
      CREATE INDEX idx_of_the_future ON sync_jobs (of_the_future) WHERE of_the_future IS NOT NULL;`,
  },
  {
    version: nextVersion + 1,
    name: 'future_data',
    sql: `CREATE TABLE of_the_future (connection_id uuid PRIMARY KEY);
      INSERT INTO of_the_future SELECT id FROM connections;`,
  },
];

type Send = (text: string) => Promise<unknown>;

/** The schema as the previous release creates it, with data as that release and its users leave it. */
export async function createPreviousRelease(config: Config['database'], send: Send): Promise<void> {
  const migrations = knownMigrations.filter(({ version }) => version <= previousVersion);
  await migrate(config, { migrations, ports: systemPorts, onProgress: () => {} });
  const quoted = `"${config.schema.replaceAll('"', '""')}"`;
  // Each text is one implicit transaction; the signals of a transaction are one batch of the feed.
  for (const text of [base, connections, firstRuns, laterRuns, pending, callers, fleet])
    await send(`SET LOCAL search_path TO ${quoted}, pg_temp; ${text}`);
}

/** Ids are md5 hashes of names, so that later statements refer to them by name. */
const id = (name: string) => `md5('${name}')::uuid`;

const base = `
  INSERT INTO tenants (id, name) VALUES (${id('northwind')}, 'Northwind'), (${id('contoso')}, NULL);
  INSERT INTO providers (slug, display_name, auth_type)
  VALUES ('github', 'GitHub', 'oauth2'), ('slack', NULL, NULL);
  INSERT INTO credentials (id, tenant_id, provider_slug, name, kind, key_id, sealed, generation, expires_at,
    refused_at, refused_reason, refreshed_at, created_at, updated_at)
  SELECT md5(kind)::uuid, ${id('northwind')}, 'github', kind, kind, 'main', sha256(kind::bytea), 3,
    CASE kind WHEN 'oauth2' THEN now() END, CASE kind WHEN 'basic' THEN now() END,
    CASE kind WHEN 'basic' THEN 'invalid_grant' END, CASE kind WHEN 'oauth2' THEN now() END, now(), now()
  FROM unnest(ARRAY['api_key', 'basic', 'oauth2', 'custom']) AS kind`;

/** One connection per state, named by it. */
const connections = `
  INSERT INTO connections (id, tenant_id, provider_slug, external_id, status, metadata, config, credential_id)
  SELECT md5(name)::uuid, ${id('northwind')}, 'github', name, status, metadata::jsonb, '{"repository":"a/b"}',
    md5(credential)::uuid
  FROM (VALUES
    ('never run', 'active', '{}', 'oauth2'),
    ('idle', 'active',
     '{"sync":{"next_run_at":"2999-01-01T00:00:00Z","cursor":{"after":7},"interval_seconds":300},"theirs":1}',
     'api_key'),
    ('due', 'active', '{"sync":{"next_run_at":"2025-01-01T00:00:00Z"}}', NULL),
    ('queued', 'active', '{"sync":{"first_activated_at":"2025-01-01T00:00:00Z"}}', NULL),
    ('running', 'active', '{"sync":{"cursor":"page 3"}}', 'custom'),
    ('in backoff', 'active', '{"sync":{}}', NULL),
    ('poison', 'active', '{}', NULL),
    ('invalid metadata', 'active', '{"sync":42}', NULL),
    ('no metadata', 'active', NULL, NULL),
    ('paused', 'paused', '{}', NULL),
    ('needs auth', 'needs_auth', '{}', 'basic'),
    ('disabled', 'disabled', '{}', NULL),
    ('deleting', 'disabled', '{}', NULL)) AS c (name, status, metadata, credential);
  INSERT INTO connections (tenant_id, provider_slug) VALUES (${id('contoso')}, 'slack');
  UPDATE connections SET failing_since = now(), failure = 'transient' WHERE id = ${id('in backoff')};
  UPDATE connections SET losses = '[{"at":"2025-01-01T00:00:00Z"},{"at":"2025-01-01T00:01:00Z"}]'
  WHERE id = ${id('poison')};
  UPDATE connections SET waits_for_job = true WHERE id = ${id('queued')};
  UPDATE connections SET deleting_since = now() WHERE id = ${id('deleting')};
  INSERT INTO deletions (connection_id, tenant_id, provider_slug, actor, estimated_signals, requested_at,
    updated_at, finished_at)
  VALUES (${id('deleting')}, ${id('northwind')}, 'github', 'operator', 1000, now(), now(), NULL),
    (${id('deleted')}, ${id('northwind')}, 'github', 'operator', 0, now(), now(), now())`;

const endedJob = (name: string, status: string, type: string) => `
  INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status, started_at,
    finished_at, signal_count, next_cursor, error)
  VALUES (md5('${name} ${status} ${type}')::uuid, ${id('northwind')}, 'github', ${id(name)}, '${type}',
    '${status}', '2025-01-01T00:00:00Z', '2025-01-01T00:00:10Z', 2, '{"after":7}',
    CASE '${status}' WHEN 'failed' THEN '{"kind":"permanent","message":"gone"}'::jsonb END);`;

const signals = (name: string, key: string) => `
  INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload, dedupe_key, job_id)
  SELECT ${id('northwind')}, 'github', ${id(name)}, 'issue.opened', now(), jsonb_build_object('n', n), ${key},
    md5('${name} succeeded incremental')::uuid
  FROM generate_series(1, 3) n;`;

const firstRuns = `
  ${endedJob('idle', 'succeeded', 'incremental')} ${signals('idle', "'idle ' || n")}
  ${endedJob('due', 'completed', 'incremental')} ${signals('due', 'NULL')}`;

const laterRuns = `
  ${endedJob('paused', 'cancelled', 'incremental')} ${endedJob('needs auth', 'failed', 'incremental')}
  ${endedJob('idle', 'succeeded', 'full')} ${endedJob('idle', 'failed', 'webhook')} ${signals('paused', 'NULL')}
  ${signals('deleting', 'NULL')}
  INSERT INTO attempts (job_id, claim_id, outcome, started_at, ended_at, retry_after, error, log)
  SELECT md5('in backoff')::uuid, gen_random_uuid(), outcome, now(), now(), now(), '{"message":"503"}', '[]'
  FROM unnest(ARRAY['succeeded', 'failed', 'retried', 'lost']) AS outcome;
  INSERT INTO consumers (tenant_id, name, after, reader, created_at, moved_at)
  VALUES ('00000000-0000-0000-0000-000000000000', 'warehouse', 'start', gen_random_uuid(), now(), now()),
    (${id('northwind')}, 'theirs', 'start', NULL, now(), now());
  INSERT INTO rollups SELECT tenant, date_trunc('hour', now()), 'github', slot, 1, 1, 1, 6,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
  FROM unnest(ARRAY['00000000-0000-0000-0000-000000000000', ${id('northwind')}]::uuid[]) AS tenant,
    unnest(ARRAY[-1, 0, 5]) AS slot`;

/** The running job belongs to a process that died; its connection and a paused one have a blocked job. */
const pending = `
  INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
  VALUES (${id('dead')}, 'host', 7, 10, '{github}', '2025-01-01', '2025-01-01');
  INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status, priority, started_at,
    process_id, claim_id, rerun_priority, hinted, cursor, attempts, retry_after)
  SELECT md5(name || type)::uuid, ${id('northwind')}, 'github', md5(name)::uuid, type, status, priority,
    CASE status WHEN 'running' THEN now() END, CASE status WHEN 'running' THEN ${id('dead')} END,
    CASE status WHEN 'running' THEN gen_random_uuid() END, CASE status WHEN 'running' THEN 10 END,
    name = 'queued', cursor::jsonb, attempts, retry_after::timestamptz
  FROM (VALUES
    ('running', 'incremental', 'running', 0, NULL, 0, NULL),
    ('running', 'full', 'queued', 0, NULL, 0, NULL),
    ('queued', 'incremental', 'queued', 0, '{"after":3}', 0, NULL),
    ('queued', 'webhook', 'queued', 10, NULL, 0, NULL),
    ('in backoff', 'incremental', 'queued', 0, NULL, 3, '2999-01-01'),
    ('poison', 'incremental', 'queued', 0, NULL, 0, '2025-01-01'),
    ('paused', 'incremental', 'queued', 0, NULL, 0, NULL)
  ) AS j (name, type, status, priority, cursor, attempts, retry_after)`;

const callers = `
  INSERT INTO api_keys (id, tenant_id, name, prefix, hash, created_at, created_by, last_used_at, revoked_at,
    parent_id)
  VALUES (${id('root')}, NULL, 'root', 'syn_a', sha256('root'), now(), 'cli', now(), NULL, NULL),
    (${id('child')}, ${id('northwind')}, 'child', 'syn_b', sha256('child'), now(), 'root', NULL, NULL, ${id('root')}),
    (${id('gone')}, NULL, 'root', 'syn_c', sha256('gone'), now(), 'cli', NULL, now(), NULL);
  INSERT INTO sessions (hash, key_id, actor, created_at, expires_at)
  VALUES (sha256('1'), ${id('root')}, 'root', now(), '2999-01-01'), (sha256('2'), NULL, 'dev', now(), now());
  INSERT INTO events (id, tenant_id, connection_id, job_id, kind, actor, reason, created_at, detail, key_id)
  VALUES (gen_random_uuid(), ${id('northwind')}, ${id('paused')}, NULL, 'connection.paused', 'root', 'asked',
      now(), NULL, ${id('root')}),
    (gen_random_uuid(), NULL, NULL, NULL, 'key.created', 'cli', NULL, now(), '{"name":"root"}', NULL)`;

const fleet = `
  INSERT INTO schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled)
  VALUES (${id('scheduler')}, 'host', 8, '2025-01-01', '2025-01-01', 5, 3);
  INSERT INTO authorizations (state, connection_id, tenant_id, key_id, sealed, created_at, expires_at,
    provider_state, browser)
  VALUES (sha256('a'), ${id('needs auth')}, ${id('northwind')}, 'main', sha256('b'), now(), now(), NULL, NULL),
    (sha256('c'), ${id('needs auth')}, ${id('northwind')}, 'main', sha256('d'), now(), now(), sha256('e'),
      sha256('f'));
  INSERT INTO budgets (key, tenant_id, provider_slug, credential_id, name, most, stated, period_seconds, spent,
    leased, opened_at, resets_at, opens_at)
  VALUES ('github/shared', NULL, 'github', NULL, 'shared', 5000, 5000, 3600, 10, 5, now(), now(), now()),
    ('github/own', ${id('northwind')}, 'github', ${id('oauth2')}, 'own', 60, 60, 60, 0, 0, now(), now(), now());
  INSERT INTO webhooks (connection_id, tenant_id, key_id, sealed, created_at, last_received_at)
  VALUES (${id('idle')}, ${id('northwind')}, 'main', sha256('w'), now(), now())`;

interface Size {
  connections: number;
  jobs: number;
  signals: number;
}

/** Ended jobs and signals of many connections, in chunks; the triggers on sync_jobs are off, as in the engine's commits. */
export async function fillPreviousRelease(schema: string, send: Send, size: Size): Promise<void> {
  const chunk = 50_000;
  const insert = async (count: number, text: (from: number, to: number) => string) => {
    for (let from = 1; from <= count; from += chunk)
      await send(
        `SET LOCAL search_path TO "${schema}", pg_temp; SET LOCAL syncline.triggers = 'off';
         ${text(from, Math.min(from + chunk - 1, count))}`,
      );
  };
  const connection = `md5('many ' || n % ${size.connections} + 1)::uuid`;
  await insert(
    size.connections,
    (from, to) => `INSERT INTO connections (id, tenant_id, provider_slug, external_id, metadata)
      SELECT md5('many ' || n)::uuid, ${id('northwind')}, 'github', 'many ' || n,
        '{"sync":{"next_run_at":"2999-01-01T00:00:00Z","cursor":{"after":7}}}'
      FROM generate_series(${from}, ${to}) n`,
  );
  await insert(
    size.jobs,
    (
      from,
      to,
    ) => `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
      SELECT ${id('northwind')}, 'github', ${connection}, 'incremental', 'succeeded', now()
      FROM generate_series(${from}, ${to}) n`,
  );
  await insert(
    size.signals,
    (from, to) => `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
      SELECT ${id('northwind')}, 'github', ${connection}, 'issue.opened', now(), '{}'
      FROM generate_series(${from}, ${to}) n`,
  );
}
