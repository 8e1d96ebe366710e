import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { newVisitor } from '../credentials/visitor.ts';
import { type Answer, type Call, call as callUrl } from '../http/service.ts';
import type { TestDatabase } from '../support/database.ts';
import { tenant } from '../support/database.ts';
import { until } from '../support/until.ts';
import { madeCanary, type Output } from './canary.ts';
import type { CanaryWorld } from './canary-world.ts';

type SendRequest = (path: string, request?: Call) => Promise<Answer>;

const post = (json: unknown): Call => ({ method: 'POST', json });
const put = (json: unknown): Call => ({ method: 'PUT', json });

/** External IDs that select how the connectors of the fixture fail, by provider. */
const runs = {
  kit: ['200', '401', '403', '404', '429', '500', 'form', 'moved', 'cut', 'path', 'query/401', 'query/500'],
  rude: [
    'message',
    'cause',
    'fields',
    'stack',
    'name',
    'object',
    'text',
    'several',
    'encoded',
    'long',
    'ours',
  ],
};

export async function runService(world: CanaryWorld, database: TestDatabase): Promise<void> {
  const { cli, outputs } = world;
  const server = world.start(['start', '--json', '--config', world.configFile]);
  try {
    const log = await server.output(/API at http\S+\/v1/);
    const url = /API at (http\S+)\/v1/.exec(log)?.[1] ?? '';
    const metricsUrl = /metrics at (http\S+?)"/.exec(log)?.[1] ?? '';
    const made = JSON.parse(await cli(['keys', 'create', '--operator', '--name', 'canary', '--json'])) as {
      key: string;
    };
    // The only output that contains the key.
    world.shownOnce.push(...outputs.splice(-2));
    world.canaries.push(madeCanary('an API key', made.key));
    const request: SendRequest = async (path, options = {}) => {
      const answer = await callUrl(url, path, made.key, options);
      const text = JSON.stringify([...answer.headers]);
      outputs.push({
        from: `${options.method ?? 'GET'} ${path.slice(0, 60)}`,
        text: `${answer.status} ${text}\n${answer.text}`,
      });
      return answer;
    };
    const cookie = await signIn(world, request, made.key);
    const ids = await connect(world, request);
    await until('every connection has run', () => hasRun(database, ids));
    await deliver(world, request);
    await authorize(world, request);
    await sendInvalidRequests(world, request, database);
    await readAllPages(world, request, ids, { cookie, metricsUrl });
    outputs.push(await recordLiveStream(url, made.key));
    await runReadCommands(world, ids);
    await recordProcesses(world, database, server.process.pid as number);
    await interruptDatabase(world, request, database);
    await storeInSignal(world, request, database);
    await prepareCrash(world, request);
  } finally {
    server.process.kill('SIGTERM');
    const { stdout, stderr } = await server.finished;
    outputs.push(
      { from: 'the log of the service', text: stdout },
      { from: 'stderr of the service', text: stderr },
    );
  }
}

/** Queues a job for `crash`; the service has no connector for it. */
async function prepareCrash({ plant }: CanaryWorld, request: SendRequest): Promise<void> {
  await request('/v1/providers/crash', put({}));
  const key = plant('a token in an uncaught error');
  const credential_id = await credential(request, 'crash', { type: 'api_key', key });
  const { body } = await request(
    '/v1/connections',
    post({ tenant_id: tenant, provider: 'crash', credential_id }),
  );
  await request(`/v1/connections/${body['id']}/trigger`, post({}));
}

/** Runs a separate process that exits with an unhandled rejection. */
export async function crash({ cliProcess, configFile, outputs }: CanaryWorld): Promise<void> {
  await cliProcess(['work', '--drain', '--config', configFile], { env: { CANARY_CRASHES: '1' } });
  const { text = '' } = outputs.at(-1) ?? {};
  if (!text.includes('dangling')) throw new Error(`The process did not crash: ${text}`);
}

async function signIn(world: CanaryWorld, request: SendRequest, key: string): Promise<string> {
  const { headers } = await request('/v1/session', { ...post({ key }), key: undefined });
  world.shownOnce.push(...world.outputs.splice(-1));
  const token = /syncline_session=([^;]*)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
  world.canaries.push(madeCanary('a session cookie', token));
  return `syncline_session=${token}`;
}

const credential = async (request: SendRequest, provider: string, secret: unknown): Promise<string> =>
  String(
    (await request('/v1/credentials', post({ tenant_id: tenant, provider, secret, name: 'theirs' }))).body[
      'id'
    ],
  );

async function connect(
  { plant, cli, cliProcess, configFile }: CanaryWorld,
  request: SendRequest,
): Promise<string[]> {
  const config = {
    token: plant('a secret in a config'),
    nested: { api_key: plant('a nested secret in a config') },
  };
  const add = async (provider: string, external_id: string, credential_id?: string) => {
    const answer = await request(
      '/v1/connections',
      post({ tenant_id: tenant, provider, external_id, config, ...(credential_id && { credential_id }) }),
    );
    const id = String(answer.body['id']);
    await request(`/v1/connections/${id}/trigger`, post({ reason: 'now' }));
    return id;
  };
  const byStdin = async (provider: string, kind: string, input: string) => {
    const args = ['credentials', 'add', '--tenant', tenant, '--provider', provider, '--kind', kind, '--json'];
    const made = JSON.parse(await cliProcess([...args, '--config', configFile], { input })) as { id: string };
    return made.id;
  };
  const oauth = (name: string, prefix: string) => ({
    type: 'oauth2',
    access_token: plant(`an access token, ${name}`),
    refresh_token: `${prefix}-${plant(`a refresh token, ${name}`)}`,
    expires_at: '2020-01-01T00:00:00Z',
  });
  const ids: string[] = [];
  const key = await byStdin('kit', 'api_key', plant('an API key of a provider'));
  for (const path of runs.kit) ids.push(await add('kit', path, key));
  const rude = await credential(request, 'rude', {
    type: 'api_key',
    key: plant('a key of a leaking connector'),
  });
  for (const way of runs.rude) ids.push(await add('rude', way, rude));
  const basic = { type: 'basic', username: 'user', password: plant('a password of a provider') };
  ids.push(await add('rude', 'message', await credential(request, 'rude', basic)));
  ids.push(await add('oauth', 'refused', await credential(request, 'oauth', oauth('rejected', 'refused'))));
  ids.push(await add('oauth', 'broken', await credential(request, 'oauth', oauth('failing', 'broken'))));
  ids.push(await add('oauth', 'renews', await credential(request, 'oauth', oauth('renewed', 'good'))));
  const fields = { deep: { token: plant('a field of a custom credential') } };
  ids.push(await add('tap', 'tap', await byStdin('tap', 'custom', JSON.stringify(fields))));
  ids.push(await add('hook', 'hook'));
  await cli(['credentials', 'add', '--tenant', tenant, '--provider', 'kit', '--kind', 'custom'], {
    input: plant('a custom secret that is not JSON'),
  });
  await cli(['credentials', 'add', '--tenant', tenant, '--provider', 'kit', '--kind', 'basic'], {
    input: plant('a basic secret without a user', { tail: '' }),
  });
  return ids;
}

const hasRun = async ({ sql }: TestDatabase, ids: string[]) => {
  const [row] = await sql<{ n: number }>(
    `SELECT count(DISTINCT connection_id)::int AS n FROM sync_jobs
     WHERE connection_id = ANY ($1) AND status <> 'running' AND (attempts > 0 OR status <> 'queued')`,
    [ids],
  );
  return row?.n === ids.length;
};

async function deliver({ plant, outputs, shownOnce }: CanaryWorld, request: SendRequest): Promise<void> {
  const secret = plant('a webhook secret of a connection');
  const hook = (await request('/v1/connections?provider=hook')).body.items[0]?.['id'];
  const { body } = await request(`/v1/connections/${hook}/webhook`, put({ secret }));
  shownOnce.push(...outputs.splice(-1));
  const path = String(body['path']);
  const signature = `sha256=${createHmac('sha256', secret).update('{}').digest('hex')}`;
  for (const headers of [
    { 'x-hub-signature-256': signature },
    { 'x-hub-signature-256': 'sha256=no' },
    { 'x-throws': '1' },
  ])
    await request(path, {
      method: 'POST',
      key: undefined,
      body: '{}',
      headers: headers as Record<string, string>,
    });
  await request(
    `/v1/connections/${hook}/webhook`,
    put({ secret: plant('a webhook secret that is too long').repeat(30) }),
  );
}

async function authorize({ plant, outputs }: CanaryWorld, request: SendRequest): Promise<void> {
  const id = (await request('/v1/connections?provider=oauth')).body.items[0]?.['id'];
  for (const kind of ['refused', 'broken', 'good']) {
    const { body } = await request('/v1/connections/authorize', post({ connection_id: id }));
    const { location, headers: started } = await newVisitor().proceed(String(body['authorization_url']));
    const state = new URL(location).searchParams.get('state');
    const code = encodeURIComponent(`${kind}${plant(`an authorization code, ${kind}`)}`);
    const cookie = started.getSetCookie()[0]?.split(';')[0] ?? '';
    const headers = { accept: 'text/html', cookie };
    await request(`/v1/connections/callback?state=${state}&code=${code}`, { key: undefined, headers });
    const last = outputs.at(-1);
    if (last) last.from = 'GET the callback';
  }
}

async function sendInvalidRequests(
  { plant }: CanaryWorld,
  request: SendRequest,
  { sql }: TestDatabase,
): Promise<void> {
  const wrong = (secret: unknown) =>
    request('/v1/credentials', post({ tenant_id: tenant, provider: 'kit', secret }));
  await wrong(plant('a secret that is not an object'));
  await wrong({ type: 'api_key', key: { value: plant('a key that is an object') } });
  await wrong({ type: 'api_key', keys: plant('a key in an unknown field') });
  await wrong({
    type: 'oauth2',
    access_token: plant('a token with an invalid time'),
    expires_at: plant('an invalid time'),
  });
  await wrong({ type: 'custom', fields: plant('fields that are text') });
  await request('/v1/credentials', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"secret":"${plant('a secret in invalid JSON')}`,
  });
  await request('/v1/session', { ...post({ key: `syn_${plant('an invalid key')}` }), key: undefined });
  const header = plant('an invalid header', { tail: '' });
  await request('/v1/me', { key: undefined, headers: { authorization: `Basic ${header}` } });
  await request('/v1/me', { key: `syn_${plant('an unknown key', { tail: '' })}` });
  await request('/v1/me', {
    key: undefined,
    headers: { cookie: `syncline_session=${plant('an unknown session', { tail: '' })}` },
  });
  await request(`/v1/connections?access_token=${plant('an unknown parameter', { tail: '' })}`);
  // The error of Postgres for a rejected row contains the whole row.
  await sql(`ALTER TABLE connections ADD CONSTRAINT refused CHECK (external_id <> 'refused by Postgres')`);
  const config = { password: plant('a config rejected by Postgres') };
  const refused = { tenant_id: tenant, provider: 'kit', external_id: 'refused by Postgres', config };
  const { status } = await request('/v1/connections', post(refused));
  if (status !== 500) throw new Error(`Postgres did not refuse: ${status}`);
}

async function readAllPages(
  world: CanaryWorld,
  request: SendRequest,
  ids: string[],
  { cookie, metricsUrl }: { cookie: string; metricsUrl: string },
): Promise<void> {
  const document = (await request('/openapi.json')).body as unknown as {
    paths: Record<string, { get?: unknown }>;
  };
  const plain = Object.entries(document.paths).filter(
    ([path, { get }]) => get && !path.includes('{') && path !== '/v1/live',
  );
  for (const [path] of plain) await request(path);
  for (const path of [
    '/v1/audit?limit=100',
    '/v1/jobs?limit=100',
    '/v1/connections?limit=100&include=recent',
    '/',
    '/docs',
    '/connections',
    '/login',
    '/nowhere',
  ])
    await request(path, { headers: { accept: 'text/html' } });
  for (const id of ids)
    for (const what of ['', '/why', '/cursors', '/schedule']) await request(`/v1/connections/${id}${what}`);
  for (const { id } of (await request('/v1/jobs?limit=100')).body.items) await request(`/v1/jobs/${id}`);
  await request('/v1/me', { key: undefined, headers: { cookie } });
  await request('/v1/tenants', { ...post({ name: 'x' }), key: undefined, headers: { cookie } });
  const metrics = await fetch(metricsUrl);
  world.outputs.push({ from: 'the metrics endpoint', text: await metrics.text() });
}

async function recordLiveStream(url: string, key: string): Promise<Output> {
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/live?after=beginning`, { headers, signal: abort.signal });
  let text = JSON.stringify([...response.headers]);
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.includes('event: signal') && text.includes('event: pulse')) break;
  }
  abort.abort();
  return { from: 'a live stream', text };
}

async function runReadCommands({ cli, configFile }: CanaryWorld, ids: string[]): Promise<void> {
  const [id = ''] = ids;
  for (const args of [
    ['connections', 'list'],
    ['connections', 'show', id, '--json'],
    ['connections', 'why', id],
    ['jobs', 'list', '--limit', '100'],
    ['credentials', 'list', '--json'],
    ['config'],
    ['credentials', 'rotate'],
  ])
    await cli([...args, '--config', configFile]);
}

async function recordProcesses({ outputs }: CanaryWorld, { sql }: TestDatabase, pid: number): Promise<void> {
  const sessions = await sql<{ text: string }>(`SELECT a::text AS text FROM pg_stat_activity a`);
  outputs.push({
    from: 'what Postgres shows of its sessions',
    text: sessions.map(({ text }) => text).join('\n'),
  });
  const commandLine = execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  outputs.push({ from: 'the command line of the service', text: commandLine });
}

/** Connectors may put anything into signals: here the search must find the secret. */
async function storeInSignal(
  { plant }: CanaryWorld,
  request: SendRequest,
  { sql }: TestDatabase,
): Promise<void> {
  const key = plant('a token in a signal');
  const credential_id = await credential(request, 'rude', { type: 'api_key', key });
  const connection = { tenant_id: tenant, provider: 'rude', external_id: 'echo', credential_id };
  const { body } = await request('/v1/connections', post(connection));
  await request(`/v1/connections/${body['id']}/trigger`, post({}));
  await until(
    'it is stored',
    async () => (await sql(`SELECT FROM signals WHERE payload ? 'echoed'`)).length > 0,
  );
}

/** Terminates the sessions of the service and denies logins for a while. */
async function interruptDatabase(
  { role }: CanaryWorld,
  request: SendRequest,
  { sql }: TestDatabase,
): Promise<void> {
  await sql(`ALTER ROLE ${role} NOLOGIN`);
  await sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
  await until('the outage is reported', async () => (await request('/v1/connections')).status === 503);
  await request('/readyz');
  await sql(`ALTER ROLE ${role} LOGIN`);
  await until('the service has recovered', async () => (await request('/v1/connections')).status === 200);
}
