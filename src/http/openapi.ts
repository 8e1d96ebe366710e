import type { App } from './context.ts';
import { sessionCookie } from './session-cookie.ts';

const description = `Everything that Syncline can do, over HTTP.

Lists come in pages: pass \`next_cursor\` as \`cursor\` until it is null. Refusals are problem documents (RFC 9457); match on
\`code\`. The key of an operator sees everything, that of a tenant only what is the tenant's own.`;

const tags = [
  { name: 'Session', description: 'Who is asking.' },
  { name: 'Tenants', description: 'Whose connections there are.' },
  { name: 'Providers', description: 'What connections are made with.' },
  { name: 'Connections', description: 'What is kept in sync, and what can be done to it.' },
  { name: 'Webhooks', description: 'What providers send by themselves.' },
  {
    name: 'Credentials',
    description: 'What opens providers for connections. Secrets go in and never come out.',
  },
  { name: 'Jobs', description: 'Runs: waiting, under way and ended.' },
  { name: 'Signals', description: 'What runs found.' },
  { name: 'Consumers', description: 'Readers of the feed whose place is remembered.' },
  { name: 'Statistics', description: 'How things stand, and how they went.' },
  { name: 'Budgets', description: 'How much may still be asked of providers.' },
  { name: 'Audit', description: 'Who did what, and why.' },
  { name: 'Keys', description: 'API keys.' },
  { name: 'System', description: 'What runs where.' },
  { name: 'Health', description: 'For probes and for Prometheus.' },
];

/** Serves the description of every route. It is put together once, when somebody first asks. */
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
      'A session in a browser. Whatever is not GET also needs the header `x-syncline-request: 1`, and an Origin, if sent, that equals the Host.',
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
