/**
 * Measures what load on the API does to syncing in the same process, and how many deliveries of providers are taken per second: two
 * builds in alternation, on one Postgres, a database each. Loopback only.
 *
 *   npx jiti bench/pressure/main.ts --base <checkout> --head <checkout> [--rounds 5] [--seconds 10]
 *
 * Both need a `dist/`, as does this checkout. The load comes from autocannon, which npx fetches.
 */
import { execFile } from 'node:child_process';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import pg from 'pg';
import { Agent, request } from 'undici';
import { fixed, median, progress, quantile, spread, table, whole } from '../tools/report.ts';
import { facts, onPostgres } from '../tools/server.ts';
import { type Build, command, configure, type Service, start, webhookSecret } from './service.ts';

const { values: options } = parseArgs({
  options: {
    base: { type: 'string' },
    head: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
  },
});
if (options.base === undefined || options.head === undefined)
  throw new Error('Name two checkouts with a dist/: --base <checkout> --head <checkout>.');
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const folders = { base: resolve(options.base), head: resolve(options.head) };

const settings = { shared_buffers: '256MB' };
const connections = 1000;
const jobsPerSecond = 20;
const deliveries = 400;
const port = 45_117;

/** One figure of a round, by its name. */
type Figures = Record<string, number>;

async function prepare(admin: pg.Client, url: string, name: keyof typeof folders): Promise<Build> {
  await admin.query(`CREATE DATABASE ${name}`);
  const database = new URL(url);
  database.pathname = `/${name}`;
  const workFolder = mkdtempSync(join(tmpdir(), 'syncline-pressure-'));
  const build = { name, folder: folders[name], databaseUrl: database.href, workFolder };
  configure(build);
  await command(build, 'migrate');
  await withClient(build, (client) =>
    client.query(
      `INSERT INTO syncline.tenants (id, name) VALUES ('00000000-0000-4000-8000-000000000001', 'a tenant');
       INSERT INTO syncline.providers (slug) VALUES ('bench');
       INSERT INTO syncline.connections (id, tenant_id, provider_slug, external_id, metadata)
       SELECT md5('connection' || n)::uuid, '00000000-0000-4000-8000-000000000001', 'bench', 'account-' || n,
         '{"sync": {"next_run_at": "2099-01-01T00:00:00Z"}}'
       FROM generate_series(1, ${connections}) n`,
    ),
  );
  return build;
}

async function withClient<T>({ databaseUrl }: Build, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The 99th percentile of how late jobs start that come due one after the other while `load` lasts. */
async function startLag(build: Build, load: () => Promise<unknown>): Promise<number> {
  const lags = await withClient(build, async (client) => {
    await client.query('DELETE FROM syncline.sync_jobs');
    await client.query(
      `INSERT INTO syncline.sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, scheduled_at)
       SELECT gen_random_uuid(), tenant_id, provider_slug, id, 'incremental',
         now() + interval '1 second' + row_number() OVER () * interval '1 second' / ${jobsPerSecond}
       FROM syncline.connections LIMIT ${jobsPerSecond * (seconds - 2)}`,
    );
    await client.query(`SELECT syncline.wake_executors('jobs')`);
    await load();
    return untilEnded(client);
  });
  return quantile(lags, 0.99);
}

async function untilEnded(client: pg.Client): Promise<number[]> {
  for (;;) {
    const { rows } = await client.query<{ lag: number | null }>(
      `SELECT 1000 * extract(epoch FROM started_at - scheduled_at)::float8 AS lag FROM syncline.sync_jobs WHERE job_type = 'incremental'`,
    );
    const lags = rows.flatMap(({ lag }) => lag ?? []);
    if (lags.length === rows.length) return lags;
    await delay(100);
  }
}

/** Answers with 2xx per second that so many clients get, each asking again as soon as it has an answer. */
async function requests({ url }: Service, key: string, clients: number): Promise<number> {
  const args = ['--yes', 'autocannon@8.0.0', '--json', '-c', String(clients), '-d', String(seconds)];
  const header = `authorization=Bearer ${key}`;
  const { stdout } = await promisify(execFile)('npx', [...args, '-H', header, `${url}/v1/connections`]);
  const result = JSON.parse(stdout) as { '2xx': number; duration: number };
  return result['2xx'] / result.duration;
}

/** How long each of so many deliveries takes that are sent in parallel, and how many are answered per second. */
async function webhooks({ url }: Service, agent: Agent): Promise<Figures> {
  const ids = Array.from({ length: deliveries }, (_, i) => i + 1);
  const began = performance.now();
  const took = await Promise.all(
    ids.map(async (i) => {
      const body = JSON.stringify({ key: randomUUID() });
      const signature = createHmac('sha256', webhookSecret).update(body).digest('hex');
      const { statusCode, body: answer } = await request(`${url}/v1/webhooks/bench/${connectionId(i)}`, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'x-hub-signature-256': `sha256=${signature}`, 'content-type': 'application/json' },
        body,
      });
      await answer.dump();
      if (statusCode !== 202) throw new Error(`A delivery was answered with ${statusCode}.`);
      return performance.now() - began;
    }),
  );
  return {
    'deliveries/s': (1000 * deliveries) / (performance.now() - began),
    'deliveries p50 ms': median(took),
    'deliveries p99 ms': quantile(took, 0.99),
  };
}

/** As Postgres makes a UUID of an MD5. */
function connectionId(n: number): string {
  const hex = createHash('md5').update(`connection${n}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

async function measure(build: Build): Promise<Figures> {
  const name = randomUUID();
  const made = JSON.parse(await command(build, 'keys', 'create', '--operator', '--name', name, '--json'));
  const { key } = made as { key: string };
  const service = await start(build, port);
  const agent = new Agent({ connections: deliveries });
  try {
    await requests(service, key, 20);
    const figures: Figures = { 'idle: start lag p99 ms': await startLag(build, () => delay(seconds * 1000)) };
    for (const clients of [100, 300]) {
      let perSecond = 0;
      const lag = await startLag(build, async () => {
        perSecond = await requests(service, key, clients);
      });
      figures[`${clients} clients: start lag p99 ms`] = lag;
      figures[`${clients} clients: 2xx/s`] = perSecond;
    }
    await webhooks(service, agent);
    return { ...figures, ...(await webhooks(service, agent)) };
  } finally {
    await agent.close();
    await service.stop();
  }
}

await onPostgres(settings, async (client, url) => {
  const builds = [await prepare(client, url, 'base'), await prepare(client, url, 'head')];
  const measured = new Map<string, Figures[]>();
  for (let round = 1; round <= rounds; round++) {
    // The build that is first in one round is second in the next.
    for (const build of round % 2 === 1 ? builds : builds.toReversed()) {
      progress(`round ${round} of ${rounds}: ${build.name}`);
      measured.set(build.name, [...(measured.get(build.name) ?? []), await measure(build)]);
    }
  }
  const [base = [], head = []] = builds.map(({ name }) => measured.get(name) ?? []);
  const rows = Object.keys(base[0] ?? {}).map((name) => {
    const [before, after] = [base, head].map((figures) => figures.map((one) => one[name] ?? Number.NaN));
    const shown = (values: number[] = []) => [whole(median(values)), spread(values, whole)];
    return [name, ...shown(before), ...shown(after), fixed(2)(median(after ?? []) / median(before ?? []))];
  });
  const columns = ['median of the rounds', 'base', 'range', 'head', 'range', 'head / base'];
  return `${await facts(client, settings)}\n\n${table(columns, rows)}`;
});
