import { defineConnector } from 'syncline/connector';

/** The provider's limit, per credential: a tenant that uses its own up does not delay other tenants. */
const requests = { name: 'requests', per: 'credential', limit: 2, perSeconds: 3600 } as const;

/** Issues by token, ten per page. A real connector requests them over HTTP, with `createHttp`. */
const issuesOf = new Map([
  ['northwind-token', 30],
  ['kestrel-token', 5],
]);

export const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  sync: async ({ cursor, credentials, budgets }) => {
    const credential = await credentials.get();
    const total = issuesOf.get(credential.type === 'api_key' ? credential.key : '') ?? 0;
    const taken = await budgets.take([{ budget: requests }]); // or parks the job until the next window
    const from = Number(cursor ?? 0);
    const to = Math.min(from + 10, total);
    taken.settle();
    return {
      signals: Array.from({ length: to - from }, (_, i) => ({
        kind: 'issue.opened',
        occurredAt: new Date(),
        payload: { id: from + i + 1 },
      })),
      nextCursor: to,
      hasMore: to < total,
    };
  },
});
