import type { App } from './context.ts';
import { sessionCookie } from './session-cookie.ts';

const description = `The HTTP API of Syncline.

Lists are paginated: pass \`next_cursor\` as \`cursor\` until it is null. Errors are problem documents
(RFC 9457); match on \`code\`. An operator key has access to all tenants, a tenant key only to its own.`;

const tags = [
  { name: 'Session', description: 'Log in, log out, and the current caller.' },
  { name: 'Tenants', description: 'Owners of connections.' },
  { name: 'Providers', description: 'External systems.' },
  { name: 'Connections', description: 'Accounts of tenants at providers, and their syncs.' },
  { name: 'Webhooks', description: 'Deliveries from providers, and their secrets.' },
  { name: 'Credentials', description: 'Provider credentials. Secrets are write-only.' },
  { name: 'Jobs', description: 'Queued, running and finished sync jobs.' },
  { name: 'Signals', description: 'Normalized events stored by jobs, and the feed.' },
  { name: 'Consumers', description: 'Feed readers with a stored position.' },
  { name: 'Statistics', description: 'Current state and history.' },
  { name: 'Budgets', description: 'Remaining provider rate limits.' },
  { name: 'Audit', description: 'Audit log.' },
  { name: 'Keys', description: 'API keys.' },
  { name: 'System', description: 'Processes, tables and configuration.' },
  { name: 'Health', description: 'Health checks and Prometheus metrics.' },
];

export function openApiRoute(app: App, version: string): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key: `Authorization: Bearer syn_…`.',
  });
  app.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description:
      'Browser session. Requests other than GET need the header `x-syncline-request: 1`; Origin, if sent, ' +
      'must match Host.',
  });
  let document: ReturnType<App['getOpenAPI31Document']> | undefined;
  app.get('/openapi.json', (c) => {
    document ??= app.getOpenAPI31Document({
      openapi: '3.1.0',
      info: { title: 'Syncline', version, description, license: { name: 'MIT' } },
      tags,
    });
    return c.json({ ...document, servers: [{ url: c.get('base') || '/' }] });
  });
}
