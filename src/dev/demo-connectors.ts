import { github } from '../connectors/github/index.ts';
import { googleCalendar } from '../connectors/google-calendar/index.ts';
import { http } from '../connectors/http/index.ts';
import { slack } from '../connectors/slack/index.ts';
import type { Connector } from '../contract/connector.ts';

export function demoConnectors(serverUrl: string): Connector[] {
  return [
    github({ baseUrl: `${serverUrl}/github` }),
    slack({ baseUrl: `${serverUrl}/slack/api` }),
    googleCalendar({ baseUrl: `${serverUrl}/google-calendar` }),
    warehouse(`${serverUrl}/warehouse`),
  ];
}

function warehouse(baseUrl: string): Connector {
  return http({
    provider: 'warehouse',
    name: 'Warehouse',
    baseUrl,
    auth: { type: 'bearer' },
    config: { database: { type: 'string', description: 'database name, such as acme/shop' } },
    budgets: [{ name: 'requests', per: 'credential', limit: 300, perSeconds: 60 }],
    streams: {
      changes: {
        request: { path: '/databases/{config.database}/changes', query: { limit: 100 } },
        records: 'changes',
        cursor: {
          path: 'position',
          order: 'ascending',
          parameter: 'after',
          inclusive: false,
          format: 'number',
        },
        pagination: { type: 'next_url', path: 'next' },
        signal: {
          kind: {
            path: 'operation',
            map: { insert: 'row.inserted', update: 'row.updated', delete: 'row.deleted' },
            default: 'row.changed',
          },
          occurredAt: 'committed_at',
          key: 'position',
          immutable: true,
        },
      },
    },
    errors: [{ status: 410, means: 'cursor_expired' }],
  });
}
