import { z } from 'zod';
import { type Connector, defineConnector, type Signal } from '../../connector.ts';
import { accountSchema } from './account.ts';
import { getPage, queryOf } from './http.ts';

const cursorSchema = z.object({
  /** When the newest item that was seen was changed. */
  since: z.string().optional(),
  /** Of the answer to just this `since`, so that asking again costs nothing while there is nothing new. */
  etag: z.string().optional(),
  /** In the middle of a walk: path and query of the next page. */
  next: z.string().optional(),
});

const issueSchema = z.looseObject({
  number: z.number(),
  state: z.enum(['open', 'closed']),
  updated_at: z.string(),
  pull_request: z.object({ merged_at: z.string().nullable() }).optional(),
});

export function githubConnector(serverUrl: string): Connector {
  return defineConnector({
    provider: 'github',
    name: 'GitHub',
    configSchema: accountSchema,
    cursorSchema,
    sync: async (context) => {
      const { cursor = {}, connection, log } = context;
      const { account, baseUrl: elsewhere = serverUrl } = connection.config;
      const baseUrl = `${elsewhere}/github`;
      const query = queryOf({ since: cursor.since, sort: 'updated', direction: 'asc', per_page: 30 });
      const { body, headers } = await getPage(context, {
        baseUrl,
        path: cursor.next ?? `/repos/${account}/issues?${query}`,
        headers: cursor.etag && !cursor.next ? { 'if-none-match': cursor.etag } : {},
        schema: z.array(issueSchema),
        count: (issues) => issues.length,
      });
      log.debug(
        `${headers.get('x-ratelimit-remaining')} requests left of ${headers.get('x-ratelimit-limit')}`,
      );
      if (!body) return { signals: [] };

      const signals = body.map(signalOf);
      const next = nextPath(headers.get('link'), baseUrl);
      if (next) return { signals, nextCursor: { ...cursor, next }, hasMore: true };
      const since = body.at(-1)?.updated_at ?? cursor.since;
      // Another `since` is another address: the tag is of use only where it stays.
      const etag = since === cursor.since && !cursor.next ? headers.get('etag') : null;
      return { signals, nextCursor: { since, ...(etag && { etag }) } };
    },
  });
}

/** `since` includes what was changed at that very time, so the last item is shown again: hence the key. */
function signalOf(issue: z.output<typeof issueSchema>): Signal {
  return {
    kind: kindOf(issue),
    occurredAt: issue.updated_at,
    payload: issue,
    dedupeKey: `${issue.number}@${issue.updated_at}`,
  };
}

function kindOf({ pull_request, state }: z.output<typeof issueSchema>): string {
  if (!pull_request) return state === 'closed' ? 'issue.closed' : 'issue.opened';
  return pull_request.merged_at ? 'pull_request.merged' : 'pull_request.opened';
}

/** Only below the provider's own address: the token goes nowhere else. What is kept is free of the address, which may change. */
function nextPath(link: string | null, baseUrl: string): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];
  return next?.startsWith(`${baseUrl}/`) ? next.slice(baseUrl.length) : undefined;
}
