import { fine, firstOf, forbidden, get, type HttpCase, type HttpWorld, notFound, send } from './http-case.ts';

const unknownId = '00000000-0000-4000-8000-00000000dead';

/** Asked twice: for something of another tenant and for something that is not there. Nobody may tell the two apart. */
const either = (
  name: string,
  of: string,
  ask: (id: string) => ReturnType<HttpCase['ask']>,
): readonly HttpCase[] => [
  { name: `${name} of another tenant`, ask: ({ foreign }) => ask(firstOf(foreign, of)), expected: notFound },
  { name: `${name} that is not there`, ask: () => ask(unknownId), expected: notFound },
];

const only = (path: string): HttpCase => ({
  name: `what is for operators: ${path}`,
  ask: () => get(path),
  expected: forbidden,
});

const theirTenant = ({ foreign }: HttpWorld) => foreign.tenantId;

/** What is another's. */
export const foreignCases: readonly HttpCase[] = [
  ...either('a connection', 'connections', (id) => get(`/v1/connections/${id}`)),
  ...either('why a connection', 'connections', (id) => get(`/v1/connections/${id}/why`)),
  ...either('the cursors of a connection', 'connections', (id) => get(`/v1/connections/${id}/cursors`)),
  ...either('the webhook of a connection', 'connections', (id) => get(`/v1/connections/${id}/webhook`)),
  ...either('a new webhook for a connection', 'connections', (id) =>
    send('PUT', `/v1/connections/${id}/webhook`, {}),
  ),
  ...either('pausing a connection', 'connections', (id) => send('POST', `/v1/connections/${id}/pause`, {})),
  ...either('triggering a connection', 'connections', (id) =>
    send('POST', `/v1/connections/${id}/trigger`, {}),
  ),
  ...either('rewinding a connection', 'connections', (id) =>
    send('POST', `/v1/connections/${id}/rewind`, { cursor: null }),
  ),
  ...either('changing a connection', 'connections', (id) =>
    send('PATCH', `/v1/connections/${id}`, { interval_seconds: 300 }),
  ),
  ...either('deleting a connection', 'connections', (id) => send('DELETE', `/v1/connections/${id}`, {})),
  ...either('a job', 'jobs', (id) => get(`/v1/jobs/${id}`)),
  ...either('cancelling a job', 'jobs', (id) => send('POST', `/v1/jobs/${id}/cancel`, {})),
  ...either('retrying a job', 'jobs', (id) => send('POST', `/v1/jobs/${id}/retry`, {})),
  ...either('a signal', 'signals', (id) => get(`/v1/signals/${id}`)),
  ...either('a credential', 'credentials', (id) => get(`/v1/credentials/${id}`)),
  ...either('deleting a credential', 'credentials', (id) => send('DELETE', `/v1/credentials/${id}`, {})),
  ...either('revoking a key', 'keys', (id) => send('DELETE', `/v1/keys/${id}`, {})),
  only('/v1/system'),
  only('/metrics'),
  {
    name: "another's tenant as a filter",
    ask: (world) => get(`/v1/connections?tenant_id=${theirTenant(world)}`),
    expected: fine(/"items":\[\]/),
  },
  {
    name: "another's tenant as the filter of a bulk action",
    ask: (world) =>
      send('POST', '/v1/connections/bulk', { action: 'delete', filter: { tenant_id: theirTenant(world) } }),
    expected: fine(/"matched":0/),
  },
  {
    name: "another's name as a search finds nothing",
    ask: ({ foreign }) => get(`/v1/connections?search=${encodeURIComponent(firstOf(foreign, 'searches'))}`),
    expected: fine(/"items":\[\]/),
  },
  {
    name: "another's connection as a filter of signals finds nothing",
    ask: ({ foreign }) => get(`/v1/signals?connection_id=${firstOf(foreign, 'connections')}`),
    expected: fine(/"items":\[\]/),
  },
  {
    name: "another's consumer is not there",
    ask: ({ foreign }) => get(`/v1/consumers/${firstOf(foreign, 'consumers')}`),
    expected: notFound,
  },
  {
    name: 'the list of tenants is of one',
    ask: () => get('/v1/tenants?limit=100'),
    expected: fine(/"items":\[\{[^{}]*\}\]/),
  },
];
