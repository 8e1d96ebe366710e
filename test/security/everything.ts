import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { githubReaction, githubSignature } from '../../src/connector-kit/index.ts';
import { defineConnector, RateLimitedError } from '../../src/index.ts';
import type { Call, Service } from '../http/service.ts';

/** Uses every feature of the engine. */
export const crm = defineConnector({
  provider: 'crm',
  name: 'CRM',
  webhook: { verify: githubSignature(), react: githubReaction },
  oauth2: {
    authorizationUrl: 'https://crm.example/a',
    tokenUrl: 'https://crm.example/t',
    clientId: 'app',
    optional: true,
  },
  sync: async ({ cursor, log, credentials, budgets, connection, job }) => {
    log.info('synced');
    if (credentials.id !== undefined) await credentials.get();
    const budget = { name: 'api', per: 'app', limit: 1000, perSeconds: 60 } as const;
    (await budgets.take([{ budget }])).settle();
    if (connection.externalId === 'limited' && cursor === undefined && job.attempts === 0)
      throw new RateLimitedError({ retryAfterSeconds: 1 });
    const page = Number(cursor ?? 0) + 1;
    const signal = { kind: 'item', occurredAt: new Date(), payload: { page }, dedupeKey: `${page}` };
    return { signals: [signal], nextCursor: page, hasMore: page % 3 !== 0 };
  },
});

export interface Made {
  tenantId: string;
  id: string;
  limited: string;
  gone: string;
  hook: { path: string; secret: string };
}

const post = (json: unknown = {}): Call => ({ method: 'POST', json });
const put = (json: unknown = {}): Call => ({ method: 'PUT', json });
const patch = (json: unknown): Call => ({ method: 'PATCH', json });
const remove: Call = { method: 'DELETE', json: {} };

type Ok = (
  path: string,
  request?: Call,
) => Promise<Record<string, unknown> & { items: Record<string, unknown>[] }>;

const expectSuccess =
  ({ call }: Pick<Service, 'call'>): Ok =>
  async (path, request) => {
    const answer = await call(path, request);
    expect([request?.method ?? 'GET', path, answer.status < 300 ? 'succeeded' : answer.text]).toEqual([
      request?.method ?? 'GET',
      path,
      'succeeded',
    ]);
    return answer.body;
  };

/** Before the engine starts. */
export async function makeEverything(service: Service): Promise<Made> {
  const ok = expectSuccess(service);
  const tenantId = String((await ok('/v1/tenants', post({ name: 'Northwind' })))['id']);
  await ok('/v1/providers/crm', put({ display_name: 'CRM' }));
  const secret = { type: 'api_key', key: 'a key of the provider' };
  const { id: credential } = await ok(
    '/v1/credentials',
    post({ tenant_id: tenantId, provider: 'crm', secret }),
  );
  const { id: spare } = await ok('/v1/credentials', post({ tenant_id: tenantId, provider: 'crm', secret }));
  await ok(`/v1/credentials/${credential}`, put({ secret }));
  await ok(`/v1/credentials/${spare}`, remove);
  const add = async (external_id: string) =>
    String((await ok('/v1/connections', post({ tenant_id: tenantId, provider: 'crm', external_id })))['id']);
  const [id, limited, gone] = [await add('healthy'), await add('limited'), await add('gone')];
  await ok(`/v1/connections/${id}`, patch({ credential_id: credential }));
  await ok(`/v1/connections/${id}`, patch({ interval_seconds: 300 }));
  await ok(`/v1/connections/${id}`, patch({ config: { a: 1 } }));
  await ok('/v1/connections/authorize', post({ connection_id: id }));
  const hook = await ok(`/v1/connections/${id}/webhook`, put());
  return { tenantId, id, limited, gone, hook: hook as unknown as Made['hook'] };
}

/** While the engine runs. */
export async function doEverything(service: Service, made: Made): Promise<void> {
  const ok = expectSuccess(service);
  const { tenantId, id, limited, gone, hook } = made;
  const control = (what: string, json: unknown = {}) => ok(`/v1/connections/${id}/${what}`, post(json));
  await control('trigger', { type: 'full' });
  await control('pause', { reason: 'holiday' });
  for (const what of ['why', 'schedule', 'cursors', 'webhook']) await ok(`/v1/connections/${id}/${what}`);
  await control('resume');
  await control('rewind', { cursor: null });
  await control('trigger');
  await control('cancel');
  await ok(`/v1/connections/${gone}`, remove);
  await ok('/v1/connections/bulk', post({ action: 'pause', filter: { search: 'limited' } }));
  const [job] = (await ok(`/v1/jobs?connection_id=${limited}`)).items;
  await ok(`/v1/jobs/${job?.['id']}`);
  await ok('/v1/consumers/reports', put({ after: 'beginning' }));
  await ok('/v1/signals/feed?consumer=reports');
  await ok('/v1/signals/feed?after=latest');
  await ok('/v1/consumers/reports', remove);
  const lists = [
    'tenants',
    'providers',
    'connections?include=recent',
    'jobs',
    'signals',
    'consumers',
    'credentials',
    'keys',
  ];
  const numbers = [
    'stats',
    'stats/load',
    'stats/attention',
    'stats/series',
    'budgets',
    'audit',
    'system',
    'me',
  ];
  for (const path of [...lists, ...numbers]) await ok(`/v1/${path}`);
  const key = await ok('/v1/keys', post({ name: 'theirs', tenant_id: tenantId }));
  await ok('/v1/session', { ...post({ key: key['key'] }), key: undefined });
  await ok('/v1/connections', { key: String(key['key']) });
  await ok(`/v1/keys/${key['id']}`, remove);
  const signature = createHmac('sha256', hook.secret).update('{}').digest('hex');
  const headers = { 'x-hub-signature-256': `sha256=${signature}` };
  await ok(hook.path, { method: 'POST', key: undefined, body: '{}', headers });
  await ok(`/v1/connections/${id}/webhook`, remove);
  await ok('/readyz');
  await service.syncline.credentials.rotate();
}
