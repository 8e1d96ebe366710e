import { fine, firstOf, forbidden, get, type HttpCase, type HttpWorld, notFound, send } from './http-case.ts';

const unknownId = '00000000-0000-4000-8000-00000000dead';

/** An object of another tenant and an unknown ID must get the same response. */
const foreignAndUnknown = (
  name: string,
  kind: string,
  build: (id: string) => ReturnType<HttpCase['build']>,
): readonly HttpCase[] => [
  {
    name: `${name} of another tenant`,
    build: ({ foreign }) => build(firstOf(foreign, kind)),
    expected: notFound,
  },
  { name: `${name} that does not exist`, build: () => build(unknownId), expected: notFound },
];

const operatorOnly = (path: string): HttpCase => ({
  name: `operators only: ${path}`,
  build: () => get(path),
  expected: forbidden,
});

const foreignTenant = ({ foreign }: HttpWorld) => foreign.tenantId;

export const foreignCases: readonly HttpCase[] = [
  ...foreignAndUnknown('a connection', 'connections', (id) => get(`/v1/connections/${id}`)),
  ...foreignAndUnknown('the explanation of a connection', 'connections', (id) =>
    get(`/v1/connections/${id}/why`),
  ),
  ...foreignAndUnknown('the cursors of a connection', 'connections', (id) =>
    get(`/v1/connections/${id}/cursors`),
  ),
  ...foreignAndUnknown('the webhook of a connection', 'connections', (id) =>
    get(`/v1/connections/${id}/webhook`),
  ),
  ...foreignAndUnknown('a new webhook for a connection', 'connections', (id) =>
    send('PUT', `/v1/connections/${id}/webhook`, {}),
  ),
  ...foreignAndUnknown('pausing a connection', 'connections', (id) =>
    send('POST', `/v1/connections/${id}/pause`, {}),
  ),
  ...foreignAndUnknown('triggering a connection', 'connections', (id) =>
    send('POST', `/v1/connections/${id}/trigger`, {}),
  ),
  ...foreignAndUnknown('rewinding a connection', 'connections', (id) =>
    send('POST', `/v1/connections/${id}/rewind`, { cursor: null }),
  ),
  ...foreignAndUnknown('changing a connection', 'connections', (id) =>
    send('PATCH', `/v1/connections/${id}`, { interval_seconds: 300 }),
  ),
  ...foreignAndUnknown('deleting a connection', 'connections', (id) =>
    send('DELETE', `/v1/connections/${id}`, {}),
  ),
  ...foreignAndUnknown('a job', 'jobs', (id) => get(`/v1/jobs/${id}`)),
  ...foreignAndUnknown('cancelling a job', 'jobs', (id) => send('POST', `/v1/jobs/${id}/cancel`, {})),
  ...foreignAndUnknown('retrying a job', 'jobs', (id) => send('POST', `/v1/jobs/${id}/retry`, {})),
  ...foreignAndUnknown('a signal', 'signals', (id) => get(`/v1/signals/${id}`)),
  ...foreignAndUnknown('a credential', 'credentials', (id) => get(`/v1/credentials/${id}`)),
  ...foreignAndUnknown('deleting a credential', 'credentials', (id) =>
    send('DELETE', `/v1/credentials/${id}`, {}),
  ),
  ...foreignAndUnknown('revoking a key', 'keys', (id) => send('DELETE', `/v1/keys/${id}`, {})),
  operatorOnly('/v1/system'),
  operatorOnly('/metrics'),
  {
    name: 'another tenant as a filter',
    build: (world) => get(`/v1/connections?tenant_id=${foreignTenant(world)}`),
    expected: fine(/"items":\[\]/),
  },
  {
    name: 'another tenant as the filter of a bulk action',
    build: (world) =>
      send('POST', '/v1/connections/bulk', { action: 'delete', filter: { tenant_id: foreignTenant(world) } }),
    expected: fine(/"matched":0/),
  },
  {
    name: 'a search for a name of another tenant finds nothing',
    build: ({ foreign }) => get(`/v1/connections?search=${encodeURIComponent(firstOf(foreign, 'searches'))}`),
    expected: fine(/"items":\[\]/),
  },
  {
    name: 'a connection of another tenant as a signal filter finds nothing',
    build: ({ foreign }) => get(`/v1/signals?connection_id=${firstOf(foreign, 'connections')}`),
    expected: fine(/"items":\[\]/),
  },
  {
    name: 'a consumer of another tenant is not found',
    build: ({ foreign }) => get(`/v1/consumers/${firstOf(foreign, 'consumers')}`),
    expected: notFound,
  },
  {
    name: 'the list of tenants has only the own one',
    build: () => get('/v1/tenants?limit=100'),
    expected: fine(/"items":\[\{[^{}]*\}\]/),
  },
];
