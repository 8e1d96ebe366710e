import { expect, test } from 'vitest';
import { defineConnector, RateLimitedError } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { differences, type OpenApi } from './schema.ts';
import { type Answer, type Call, type Service, startService } from './service.ts';

const db = useDatabase();

const github = defineConnector({
  provider: 'github',
  name: 'GitHub',
  sync: async ({ cursor, log }) => {
    const n = Number(cursor ?? 0) + 1;
    log.info({ n }, 'fetched');
    return { signals: [{ kind: 'issue.opened', occurredAt: new Date(), payload: { n } }], nextCursor: n };
  },
});
const failing = defineConnector({
  provider: 'slack',
  name: 'Slack',
  sync: async () => {
    throw new RateLimitedError({ retryAfterSeconds: 60 });
  },
});

/** Starts a service whose `call` validates every response against the OpenAPI document. */
async function startValidated(): Promise<Service> {
  const service = await startService(db, { engine: { connectors: [github, failing] } });
  const document = JSON.parse((await service.call('/openapi.json')).text) as OpenApi;
  const check = (target: string, method: string, answer: Answer) => {
    const [plain = ''] = target.split('?');
    const template = Object.keys(document.paths).find((path) =>
      new RegExp(`^${path.replaceAll(/\{\w+\}/g, '(?!bulk$|feed$)[^/]+')}$`).test(plain),
    );
    const operation = document.paths[template ?? '']?.[method];
    const response = operation?.responses[answer.status];
    if (!response) throw new Error(`${method} ${target} returned ${answer.status}: ${answer.text}`);
    const [content] = Object.values(response.content ?? {});
    if (content)
      expect(differences(document, content.schema, answer.body), `${method} ${target}`).toEqual([]);
  };
  return {
    ...service,
    call: async (path, request: Call = {}) => {
      const answer = await service.call(path, request);
      check(path, (request.method ?? 'GET').toLowerCase(), answer);
      return answer;
    },
  };
}

test('tenants: a new tenant and its connection are created in one transaction', async () => {
  const { call, syncline } = await startValidated();
  const input = { tenant_name: 'Initech', provider: 'github' };
  const create = (json: object, key?: string) =>
    call('/v1/connections', { method: 'POST', json, ...(key && { key }) });
  const tenants = async () => (await call('/v1/tenants?search=Initech')).body.items;

  for (const refused of [
    { ...input, schedule: { cron: '0 6 * * 1-5', time_zone: 'Berlin' } },
    { ...input, schedule: { cron: 'every day' } },
    { ...input, provider: 'unknown' },
    { ...input, credential_id: '00000000-0000-4000-8000-00000000dead' },
  ])
    expect([400, 404]).toContain((await create(refused)).status);
  const { key } = await syncline.keys.create({ name: 'of a tenant', tenantId: tenant });
  expect((await create(input, key)).status).toBe(403);
  for (const unclear of [{ provider: 'github' }, { ...input, tenant_id: tenant }])
    expect((await create(unclear)).body['detail']).toContain('must have either tenant_id or tenant_name');
  expect(await tenants()).toEqual([]);

  const { status, body } = await create(input);
  expect(status).toBe(201);
  expect(await tenants()).toMatchObject([{ id: body['tenant_id'], name: 'Initech' }]);
  const { items } = await syncline.audit.list({ kind: 'tenant.created' });
  expect(items.map(({ tenantId }) => tenantId)).toContain(body['tenant_id']);
});

test('api: responses of all connection operations match the OpenAPI document', async () => {
  const service = await startValidated();
  const { call, syncline } = service;
  const post = (json: unknown) => ({ method: 'POST', json });

  const northwind = await call('/v1/tenants', post({ name: 'Northwind' }));
  expect(northwind).toMatchObject({ status: 201, body: { name: 'Northwind' } });
  const tenantId = String(northwind.body['id']);
  expect((await call(`/v1/tenants/${tenantId}`)).body).toEqual(northwind.body);
  expect((await call('/v1/tenants?search=North')).body.items).toEqual([northwind.body]);

  const provider = await call('/v1/providers/github', {
    method: 'PUT',
    json: { display_name: 'GitHub', auth_type: 'oauth2' },
  });
  expect(provider.body).toMatchObject({ slug: 'github', display_name: 'GitHub', auth_type: 'oauth2' });
  expect((await call('/v1/providers')).body.items).toContainEqual(provider.body);

  const input = { tenant_id: tenantId, provider: 'github', external_id: 'acme/web', interval_seconds: 300 };
  const created = await call(
    '/v1/connections',
    post({ ...input, config: { repo: 'web' }, metadata: { yours: 1 } }),
  );
  expect(created).toMatchObject({
    status: 201,
    body: {
      tenant_name: 'Northwind',
      external_id: 'acme/web',
      status: 'active',
      health: 'ok',
      interval_seconds: 300,
      config: { repo: 'web' },
      cursor: null,
    },
  });
  const id = String(created.body['id']);
  expect((await call(`/v1/connections/${id}`)).status).toBe(200);
  expect((await call('/v1/connections?search=acme')).body.items.map((item) => item['id'])).toEqual([id]);
  expect(
    (await call(`/v1/connections?search=${id}&provider=github&status=active&health=ok`)).body.items,
  ).toHaveLength(1);

  const triggered = await call(`/v1/connections/${id}/trigger`, post({ type: 'incremental', reason: 'now' }));
  expect(triggered.body['effect']).toMatch(/^(queued|brought_forward)$/);
  await syncline.drain();
  const job = await call(`/v1/jobs/${triggered.body['job_id']}`);
  expect(job.body).toMatchObject({ status: 'succeeded', signals: 1, next_cursor: 1, error: null });
  expect(job.body['duration_ms']).toEqual(expect.any(Number));
  expect(job.body['runs']).toMatchObject([
    { number: 1, outcome: 'succeeded', log: [{ level: 'info', message: 'fetched', fields: { n: 1 } }] },
  ]);

  const withRecent = await call(`/v1/connections?search=${id}&include=recent`);
  expect(withRecent.body.items[0]?.['recent']).toMatchObject([{ status: 'succeeded', signals: 1 }]);
  const signals = await call(`/v1/signals?connection_id=${id}`);
  expect(signals.body.items).toHaveLength(1);
  expect(signals.body.items[0]).not.toHaveProperty('payload');
  const detail = await call(`/v1/signals/${signals.body.items[0]?.['id']}`);
  expect(detail.body).toMatchObject({
    kind: 'issue.opened',
    payload: { n: 1 },
    job_id: triggered.body['job_id'],
  });
  expect((await call(`/v1/signals?tenant_id=${tenantId}&payload=true&kind=issue.opened`)).body.items).toEqual(
    [detail.body],
  );
  await call('/v1/signals/feed');

  await call(`/v1/connections/${id}/trigger`, post({}));
  await syncline.drain();
  const cursors = await call(`/v1/connections/${id}/cursors`);
  expect(cursors.body.items).toMatchObject([
    { cursor: 2, current: true },
    { cursor: 1, current: false },
  ]);
  const back = await call(
    `/v1/connections/${id}/rewind`,
    post({ job_id: triggered.body['job_id'], reason: 'again' }),
  );
  expect(back.body['cursor']).toBe(1);
  expect((await call(`/v1/connections/${id}/rewind`, post({ cursor: null }))).body['cursor']).toBeNull();
  expect((await call(`/v1/connections/${id}/rewind`, post({ cursor: { page: 3 } }))).body['cursor']).toEqual({
    page: 3,
  });
  expect((await call(`/v1/connections/${id}/rewind`, post({ cursor: 1, job_id: id }))).status).toBe(400);

  const patch = (json: unknown) => call(`/v1/connections/${id}`, { method: 'PATCH', json });
  expect((await patch({ interval_seconds: 600, reason: 'less' })).body['interval_seconds']).toBe(600);
  expect((await patch({ interval_seconds: null })).body['interval_seconds']).toBeNull();
  expect((await patch({})).body['errors']).toEqual([
    { field: 'body', message: 'must have one of interval_seconds, schedule, credential_id and config' },
  ]);
  expect((await patch({ interval_seconds: 1 })).status).toBe(400);
  const cron = { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' };
  expect((await patch({ schedule: cron })).body['schedule']).toEqual(cron);
  const times = { times_of_day: ['18:00', '06:00'], days_of_week: ['fri', 'mon'] };
  expect((await patch({ schedule: times })).body['schedule']).toEqual({
    times_of_day: ['06:00', '18:00'],
    days_of_week: ['mon', 'fri'],
    time_zone: 'UTC',
  });
  expect((await patch({ schedule: null })).body['schedule']).toBeNull();
  expect((await patch({ schedule: { ...cron, time_zone: 'Berlin' } })).body).toMatchObject({
    status: 400,
    detail: 'schedule.time_zone must be an IANA time zone such as Europe/Berlin, got "Berlin".',
    errors: [{ field: 'schedule.time_zone', value: '"Berlin"' }],
  });
  const both = post({ ...input, schedule: cron });
  expect((await call('/v1/connections', both)).body['detail']).toBe(
    'An interval and a schedule cannot be combined.',
  );
  const daily = { ...input, interval_seconds: undefined, external_id: 'daily', schedule: cron };
  expect((await call('/v1/connections', post(daily))).body['schedule']).toEqual(cron);
  // The engine checks the upper bound; the error uses the field name of the request.
  expect((await patch({ interval_seconds: 604_801 })).body['errors']).toEqual([
    {
      field: 'interval_seconds',
      value: '604801',
      message: 'must be a whole number of seconds from 60 to 86400',
    },
  ]);

  expect((await call(`/v1/connections/${id}/pause`, post({ reason: 'holiday' }))).body['status']).toBe(
    'paused',
  );
  expect((await call(`/v1/connections/${id}/why`)).body).toMatchObject({
    state: 'paused',
    next_run_at: null,
  });
  expect((await call(`/v1/connections/${id}/resume`, post({}))).body['status']).toBe('active');
  expect((await call(`/v1/connections/${id}/schedule?runs=3`)).body['runs']).toHaveLength(3);
  await call(`/v1/connections/${id}/trigger`, post({}));
  expect((await call(`/v1/connections/${id}/cancel`, post({}))).body['cancelled']).toHaveLength(1);

  const events = await call(`/v1/audit?connection_id=${id}&limit=100`);
  const kinds = events.body.items.map(({ kind }) => kind);
  expect(kinds).toEqual(
    expect.arrayContaining(['connection.paused', 'connection.rewound', 'connection.resumed']),
  );
  expect(events.body.items.find(({ kind }) => kind === 'connection.paused')).toMatchObject({
    actor: 'key:tests',
    reason: 'holiday',
  });

  expect((await call(`/v1/connections/${id}`, { method: 'DELETE', json: { reason: 'over' } })).status).toBe(
    204,
  );
  expect((await call(`/v1/connections/${id}`)).status).toBe(404);
});

test('api: failed jobs can be read, cancelled and retried', async () => {
  const { call, syncline } = await startValidated();
  const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'slack' });
  const { jobId } = await syncline.connections.trigger(id);
  await syncline.drain();
  const job = await call(`/v1/jobs/${jobId}`);
  expect(job.body).toMatchObject({ status: 'queued', attempts: 1, error: { kind: 'rate_limited' } });
  expect(job.body['runs']).toMatchObject([{ outcome: 'retried', error: { kind: 'rate_limited' } }]);
  expect((await call(`/v1/jobs?connection_id=${id}&status=queued&type=incremental`)).body.items).toHaveLength(
    1,
  );
  expect(
    (await call('/v1/jobs?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00%2B01:00')).body.items,
  ).toEqual([]);
  expect((await call(`/v1/connections/${id}`)).body['health']).toMatch(/ok|failing/);
  const cancel = await call(`/v1/jobs/${jobId}/cancel`, { method: 'POST', json: { reason: 'no' } });
  expect(cancel.body['status']).toBe('cancelled');
  expect((await call(`/v1/jobs/${jobId}/cancel`, { method: 'POST' })).status).toBe(409);
  expect((await call(`/v1/jobs/${jobId}/retry`, { method: 'POST' })).body['status']).toBe('queued');
});

test('api: lists are paged and bulk actions run in steps', async () => {
  const { call, syncline } = await startValidated();
  const { id: tenantId } = await syncline.tenants.create({ name: 'many' });
  for (let i = 0; i < 5; i++) await syncline.connections.create({ tenantId, provider: 'github' });
  const seen: unknown[] = [];
  for (let cursor: unknown = ''; cursor !== null; ) {
    const from = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body } = await call(`/v1/connections?tenant_id=${tenantId}&limit=2${from}`);
    seen.push(...body.items.map(({ id }) => id));
    cursor = body['next_cursor'];
  }
  expect(new Set(seen).size).toBe(5);
  expect(seen).toHaveLength(5);

  let changed = 0;
  for (let cursor: unknown; cursor !== null; ) {
    const json = {
      action: 'pause',
      filter: { tenant_id: tenantId },
      limit: 2,
      reason: 'all',
      ...(cursor ? { cursor } : {}),
    };
    const { body } = await call('/v1/connections/bulk', { method: 'POST', json });
    changed += Number(body['changed']);
    cursor = body['next_cursor'];
  }
  expect(changed).toBe(5);
  const trigger = { action: 'trigger', filter: { tenant_id: tenantId } };
  const refused = await call('/v1/connections/bulk', { method: 'POST', json: trigger });
  expect(refused.body).toMatchObject({ matched: 5, changed: 0 });
  expect(refused.body['failed']).toHaveLength(5);
  const remove = { action: 'delete', filter: { tenant_id: tenantId, status: 'paused' } };
  expect((await call('/v1/connections/bulk', { method: 'POST', json: remove })).body['changed']).toBe(5);
  const typo = await call('/v1/connections/bulk', {
    method: 'POST',
    json: { action: 'pause', filter: { tenant: 'x' } },
  });
  expect(typo.body['errors']).toEqual([
    { field: 'filter.tenant', message: 'is unknown. Did you mean tenant_id?' },
  ]);
});

test('api: responses of stats and system match the OpenAPI document', async () => {
  const { call, syncline } = await startValidated();
  await syncline.tick();
  expect((await call('/v1/stats')).body['connections']).toHaveProperty('total');
  expect((await call('/v1/stats/series?minutes=5')).body['points']).toEqual(expect.any(Array));
  expect((await call('/v1/stats/series?minutes=10080&provider=github')).status).toBe(200);
  expect((await call('/v1/stats/load')).body['minutes']).toHaveLength(60);
  expect((await call('/v1/stats/attention')).status).toBe(200);
  const system = await call('/v1/system');
  expect(system.body).toMatchObject({ version: '1.2.3', node: process.version, schema: 'syncline' });
  expect(system.text).not.toMatch(/postgres:\/\/[^*]*:[^*@]+@/);
  await call('/v1/keys');
  await call('/v1/me');
  await call('/healthz');
});
