import { defineConnector, hmacSignature } from 'syncline/connector';

export interface Issue {
  id: number;
  title: string;
}

/** The issues at the provider. A real connector requests them over HTTP. */
export const issues: Issue[] = [{ id: 1, title: 'Issue 1' }];

export const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  webhook: {
    /** Checks the signature of the raw body. Without `react`, a verified delivery triggers a sync. */
    verify: hmacSignature({ header: 'x-tracker-signature', prefix: 'sha256=' }),
  },
  sync: async ({ cursor }) => {
    const seen = Number(cursor ?? 0);
    return {
      signals: issues.slice(seen).map((issue) => ({
        kind: 'issue.opened',
        occurredAt: new Date(),
        payload: issue,
        dedupeKey: String(issue.id),
      })),
      nextCursor: issues.length,
    };
  },
});
