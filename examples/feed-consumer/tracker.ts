import { defineConnector } from 'syncline';

/** Returns 25 opened issues, ten per page. A real connector requests them from its provider. */
export const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  sync: async ({ cursor }) => {
    const from = Number(cursor ?? 0);
    const to = Math.min(from + 10, 25);
    const signals = Array.from({ length: to - from }, (_, i) => ({
      kind: 'issue.opened',
      occurredAt: new Date(),
      payload: { id: from + i + 1, project: (from + i) % 2 === 0 ? 'apollo' : 'gemini' },
    }));
    return { signals, nextCursor: to, hasMore: to < 25 };
  },
});
