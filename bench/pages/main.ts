/**
 * Measures what the pages of the dashboard cost over a large fleet: every request that they make, over HTTP, against a
 * million connections and five million jobs. `npm run bench:pages -- --quick` tries it out with a fiftieth of that.
 */
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { createApp } from '../../dist/http/app.js';
import { startServer } from '../../dist/http/server.js';
import { createSyncline, type Syncline } from '../../dist/index.js';
import { createLogger } from '../../dist/telemetry/log.js';
import { fixed, median, progress, quantile, table, verdict, whole } from '../tools/report.ts';
import { facts, onPostgres } from '../tools/server.ts';

const postgresSettings = { shared_buffers: '1GB', max_wal_size: '8GB' };
const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const part = options.quick ? 0.02 : 1;
const scale = {
  tenants: Math.round(10_000 * part),
  connections: Math.round(1_000_000 * part),
  jobs: Math.round(5_000_000 * part),
  signals: Math.round(2_000_000 * part),
};
const rounds = 15;
const mostMs = 200;

/** An id of version 7 for the n-th of so many rows, spread over a week. */
const timedId = (n: string, of: number, salt: string) =>
  `(lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 604800000 + (${n}::bigint * 604800000 / ${of})), 12, '0')
    || '7000' || substr(md5('${salt}' || ${n}), 1, 16))::uuid`;
const tenantOf = (n: string) => `md5('tenant' || (${n} % ${scale.tenants}))::uuid`;
const connectionOf = (n: string) => `md5('connection' || (${n}))::uuid`;
/** One in ten thousand has a provider that hardly anybody has. */
const providerOf = (n: string) =>
  `CASE WHEN ${n} % 10000 = 7 THEN 'rare' ELSE (ARRAY['github', 'slack', 'stripe', 'zendesk'])[1 + ${n} % 4] END`;

async function fill(client: pg.Client): Promise<void> {
  const run = async (what: string, statement: string) => {
    progress(what);
    await client.query(statement);
  };
  await client.query('SET search_path = syncline');
  // What the triggers would work out is written as it would be; they would only make this take longer.
  await client.query('SET session_replication_role = replica');
  await run(
    'tenants and providers',
    `INSERT INTO tenants (id, name) SELECT md5('tenant' || n)::uuid, 'Tenant ' || n FROM generate_series(0, ${scale.tenants - 1}) n;
     INSERT INTO providers (slug) SELECT unnest('{github,slack,stripe,zendesk,rare}'::text[])`,
  );
  await run(
    `${whole(scale.connections)} connections`,
    `INSERT INTO connections (id, tenant_id, provider_slug, external_id, status, metadata, failing_since, failure, last_incremental_ended_at)
     SELECT ${connectionOf('n')}, ${tenantOf('n')}, ${providerOf('n')}, 'account-' || n,
       CASE WHEN n % 1000 = 1 THEN 'needs_auth' WHEN n % 1000 = 2 THEN 'paused' ELSE 'active' END,
       jsonb_build_object('sync', jsonb_build_object('interval_seconds', 900, 'cursor', jsonb_build_object('page', n),
         'next_run_at', to_char(now() + (n % 900) * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))),
       CASE WHEN n % 500 = 3 THEN now() - interval '1 hour' END, CASE WHEN n % 500 = 3 THEN 'transient' END, now() - (n % 900) * interval '1 second'
     FROM generate_series(0, ${scale.connections - 1}) n`,
  );
  await run(
    `${whole(scale.jobs)} jobs`,
    `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, started_at, finished_at, created_at, updated_at, signal_count, next_cursor, error)
     SELECT ${timedId('n', scale.jobs, 'job')}, ${tenantOf(`(n % ${scale.connections})`)}, ${providerOf(`(n % ${scale.connections})`)},
       ${connectionOf(`n % ${scale.connections}`)}, 'incremental', CASE WHEN n % 400 = 3 THEN 'failed' ELSE 'succeeded' END, t, t, t + interval '300 ms', t, t, 3, '{"page": 1}',
       CASE WHEN n % 400 = 3 THEN '{"kind": "permanent", "name": "Error", "message": "it is gone", "at": "2025-01-01T00:00:00Z"}'::jsonb END
     FROM generate_series(0, ${scale.jobs - 1}) n, LATERAL (SELECT now() - interval '7 days' + n * interval '7 days' / ${scale.jobs} AS t) times`,
  );
  await run(
    `${whole(scale.signals)} signals`,
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload, batch)
     SELECT ${timedId('n', scale.signals, 'signal')}, ${tenantOf(`(n % ${scale.connections})`)}, ${providerOf(`(n % ${scale.connections})`)},
       ${connectionOf(`n % ${scale.connections}`)}, 'item.changed', t, t, '{"title": "something changed", "n": 1}', md5('batch' || (n / 100))::uuid
     FROM generate_series(0, ${scale.signals - 1}) n, LATERAL (SELECT now() - interval '7 days' + n * interval '7 days' / ${scale.signals} AS t) times;
     INSERT INTO feed (batch, position) SELECT md5('batch' || n)::uuid, nextval('feed_position') FROM generate_series(0, ${scale.signals / 100 - 1}) n`,
  );
  const counters = [...Array(12).keys()].flatMap((i) => [`lag_${i}`, `age_${i}`]);
  await run(
    'a week of counts',
    `INSERT INTO rollups (tenant_id, minute, provider_slug, slot, succeeded, failed, retried, signals, ${counters.join(', ')})
     SELECT t.id, date_trunc('minute', now()) - n * interval '1 minute', p, s, 100, 1, 2, 300, ${counters.map((_, i) => i).join(', ')}
     FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid), (md5('tenant0')::uuid)) t (id), generate_series(0, 10079) n,
       unnest('{github,slack,stripe,zendesk}'::text[]) p, generate_series(0, 7) s
     -- as the janitor leaves them: by the minute for a day, by the hour before that
     WHERE n < 1560 OR s = 0 AND n % 60 = 0`,
  );
  await client.query('SET session_replication_role = origin');
  progress('vacuum');
  await client.query('VACUUM ANALYZE');
}

/** Everything that the pages ask for. */
async function requests(
  syncline: Syncline,
  client: pg.Client,
): Promise<{ page: string; path: string; by: 'operator' | 'tenant' }[]> {
  const { rows } = await client.query<{ id: string; tenant: string }>(
    `SELECT id, tenant_id AS tenant FROM syncline.connections WHERE external_id = 'account-123'`,
  );
  const { id, tenant } = rows[0] as { id: string; tenant: string };
  const [job] = (await syncline.jobs.list({ limit: 1 })).items;
  const common = (by: 'operator' | 'tenant') =>
    [
      ['Pulse', 'stats'],
      ['Pulse', 'stats/series?minutes=60'],
      ['Pulse', 'stats/series?minutes=10080'],
      ['Pulse', 'stats/load'],
      ['Pulse', 'stats/attention'],
      ['Connections', 'connections?limit=50&include=recent'],
      ['Connections', 'connections?limit=50&include=recent&health=failing'],
      ['Connections', 'connections?limit=50&include=recent&health=needs_auth'],
      ['Connections', 'connections?limit=50&include=recent&provider=rare'],
      ['Connections', 'connections?limit=50&include=recent&search=account-12'],
      ['Jobs', 'jobs?limit=50'],
      ['Jobs', 'jobs?limit=50&status=failed'],
      ['Jobs', 'jobs?limit=50&status=cancelled'],
      ['Jobs', 'jobs?limit=50&provider=rare'],
      ['Signals', 'signals?limit=50'],
      ['Signals', 'signals?limit=50&kind=none'],
      ['Signals', 'signals/feed?limit=50'],
      ['Audit', 'audit?limit=50'],
    ].map(([page, path]) => ({ page: page as string, path: path as string, by }));
  const ofOperator = [
    ['Connections', `connections?limit=50&include=recent&tenant_id=${tenant}`],
    ['Connection', `connections/${id}`],
    ['Connection', `connections/${id}/why`],
    ['Connection', `connections/${id}/schedule`],
    ['Connection', `connections/${id}/cursors`],
    ['Connection', `jobs?limit=50&connection_id=${id}`],
    ['Connection', `signals?limit=20&connection_id=${id}`],
    ['Connection', `audit?limit=20&connection_id=${id}`],
    ['Job', `jobs/${job?.id}`],
    ['System', 'system'],
  ].map(([page, path]) => ({ page: page as string, path: path as string, by: 'operator' as const }));
  return [...common('operator'), ...ofOperator, ...common('tenant')];
}

async function measure(client: pg.Client, url: string): Promise<string> {
  const syncline = createSyncline({ database: url, log: { level: 'silent' } });
  await syncline.migrate();
  await fill(client);
  const log = createLogger({ level: 'silent', readable: false, to: 'stdout' });
  const server = await startServer({
    app: createApp({ syncline, log, version: 'bench' }),
    host: '127.0.0.1',
    port: 0,
  });
  const { rows } = await client.query<{ id: string }>(`SELECT md5('tenant0')::uuid AS id`);
  const keys = {
    operator: (await syncline.keys.create({ name: 'bench' })).key,
    tenant: (await syncline.keys.create({ name: 'bench', tenantId: rows[0]?.id })).key,
  };
  const results: { page: string; path: string; by: string; times: number[] }[] = [];
  for (const request of await requests(syncline, client)) {
    const times: number[] = [];
    for (let i = 0; i < rounds; i++) {
      const started = performance.now();
      const response = await fetch(`${server.url}/v1/${request.path}`, {
        headers: { authorization: `Bearer ${keys[request.by]}` },
      });
      await response.text();
      if (!response.ok) throw new Error(`${request.path} answered ${response.status}`);
      times.push(performance.now() - started);
    }
    results.push({ ...request, times });
  }
  await server.close();
  await syncline.stop();
  const ms = fixed(1);
  return [
    await facts(client, postgresSettings),
    '',
    `${whole(scale.connections)} connections of ${whole(scale.tenants)} tenants, ${whole(scale.jobs)} jobs, ${whole(scale.signals)} signals; ${rounds} times each, the first with whatever is in memory by then.`,
    '',
    table(
      ['Request', 'page', 'by', 'median ms', '90 % ms', 'most ms', `goal < ${mostMs}`],
      results.map(({ page, path, by, times }) => [
        path.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '…'),
        page,
        by,
        ms(median(times)),
        ms(quantile(times, 0.9)),
        ms(Math.max(...times)),
        verdict(median(times) < mostMs),
      ]),
    ),
  ].join('\n');
}

await onPostgres(postgresSettings, measure);
