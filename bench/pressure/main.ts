/**
 * Measures how API load affects syncs in the same process, and the rate of webhook deliveries. Compares two builds in
 * alternation on one Postgres server. Both checkouts need a dist/, as does this one. npx downloads autocannon.
 *
 *   node scripts/bench.mjs pressure/main.ts --base <checkout> --head <checkout> [--rounds 5] [--seconds 10]
 */
import { execFile } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { Agent, request } from 'undici';
import { withClient, withPostgres } from '../tools/postgres.ts';
import { fixed, median, progress, quantile, range, table, whole } from '../tools/text.ts';
import { type Build, createBuild, url, webhookSecret } from './service.ts';

const { values: options } = parseArgs({
  options: {
    base: { type: 'string', default: '.' },
    head: { type: 'string', default: '.' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
  },
});
const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)];
const connections = 1000;
const jobsPerSecond = 20;
const deliveries = 400;

type Figures = Record<string, number>;

async function prepare(build: Build): Promise<string[]> {
  await build.command('migrate');
  return withClient(build.databaseUrl, async (client) => {
    await client.query(
      `INSERT INTO syncline.tenants (id, name) VALUES ('00000000-0000-4000-8000-000000000001', 'a tenant');
       INSERT INTO syncline.providers (slug) VALUES ('bench')`,
    );
    const { rows } = await client.query<{ id: string }>(
      `INSERT INTO syncline.connections (tenant_id, provider_slug, external_id, metadata)
       SELECT '00000000-0000-4000-8000-000000000001', 'bench', 'account-' || n,
         '{"sync": {"next_run_at": "2099-01-01T00:00:00Z"}}'
       FROM generate_series(1, ${connections}) n RETURNING id`,
    );
    return rows.map(({ id }) => id);
  });
}

/** The p99 of the start lag of jobs that come due one after another during `load`. */
async function startLag({ databaseUrl }: Build, load: () => Promise<unknown>): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    await client.query('DELETE FROM syncline.sync_jobs');
    await client.query(
      `INSERT INTO syncline.sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, scheduled_at)
       SELECT gen_random_uuid(), tenant_id, provider_slug, id, 'incremental',
         now() + interval '1 second' + row_number() OVER () * interval '1 second' / ${jobsPerSecond}
       FROM syncline.connections LIMIT ${jobsPerSecond * (seconds - 2)}`,
    );
    await client.query(`SELECT syncline.wake_executors('jobs')`);
    await load();
    for (;;) {
      const { rows } = await client.query<{ lag: number | null }>(
        `SELECT 1000 * extract(epoch FROM started_at - scheduled_at)::float8 AS lag FROM syncline.sync_jobs WHERE job_type = 'incremental'`,
      );
      const lags = rows.flatMap(({ lag }) => lag ?? []);
      if (lags.length === rows.length) return quantile(lags, 0.99);
      await delay(100);
    }
  });
}

/** Successful responses per second; each client sends its next request after the response. */
async function requestRate(key: string, clients: number): Promise<number> {
  const args = ['--yes', 'autocannon@8.0.0', '--json', '-c', String(clients), '-d', String(seconds)];
  const header = `authorization=Bearer ${key}`;
  const { stdout } = await promisify(execFile)('npx', [...args, '-H', header, `${url}/v1/connections`]);
  const result = JSON.parse(stdout) as { '2xx': number; duration: number };
  return result['2xx'] / result.duration;
}

async function deliver(dispatcher: Agent, ids: string[]): Promise<Figures> {
  const started = performance.now();
  const took = await Promise.all(
    ids.slice(0, deliveries).map(async (id) => {
      const body = JSON.stringify({ key: randomUUID() });
      const signature = `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`;
      const headers = { 'x-hub-signature-256': signature, 'content-type': 'application/json' };
      const target = `${url}/v1/webhooks/bench/${id}`;
      const response = await request(target, { dispatcher, method: 'POST', headers, body });
      await response.body.dump();
      if (response.statusCode !== 202) throw new Error(`A delivery returned ${response.statusCode}.`);
      return performance.now() - started;
    }),
  );
  return {
    'deliveries/s': (1000 * deliveries) / (performance.now() - started),
    'deliveries p50 ms': median(took),
    'deliveries p99 ms': quantile(took, 0.99),
  };
}

async function measure(build: Build, ids: string[]): Promise<Figures> {
  const created = await build.command('keys', 'create', '--operator', '--name', randomUUID(), '--json');
  const { key } = JSON.parse(created) as { key: string };
  const stop = await build.start();
  const agent = new Agent({ connections: deliveries });
  try {
    await requestRate(key, 20);
    const figures: Figures = { 'idle: start lag p99 ms': await startLag(build, () => delay(seconds * 1000)) };
    for (const clients of [100, 300])
      figures[`${clients} clients: start lag p99 ms`] = await startLag(build, async () => {
        figures[`${clients} clients: 2xx/s`] = await requestRate(key, clients);
      });
    await deliver(agent, ids);
    return { ...figures, ...(await deliver(agent, ids)) };
  } finally {
    await agent.close();
    await stop();
  }
}

await withPostgres((bench) =>
  bench.withDatabase('base', (_base, baseUrl) =>
    bench.withDatabase('head', async (_head, headUrl) => {
      const builds = [
        createBuild('base', resolve(options.base), baseUrl),
        createBuild('head', resolve(options.head), headUrl),
      ].map((build) => ({ build, ids: [] as string[], figures: [] as Figures[] }));
      for (const one of builds) one.ids = await prepare(one.build);
      for (let round = 1; round <= rounds; round++)
        for (const { build, ids, figures } of round % 2 === 1 ? builds : builds.toReversed()) {
          progress(`round ${round} of ${rounds}: ${build.name}`);
          figures.push(await measure(build, ids));
        }
      const rows = Object.keys(builds[0]?.figures[0] ?? {}).map((name) => {
        const values = builds.map(({ figures }) => figures.map((one) => one[name] ?? Number.NaN));
        const [base = Number.NaN, head = Number.NaN] = values.map(median);
        return [
          name,
          ...values.flatMap((of) => [whole(median(of)), range(of, whole)]),
          fixed(2)(head / base),
        ];
      });
      return table(['median of the rounds', 'base', 'range', 'head', 'range', 'head / base'], rows);
    }),
  ),
);
