import { type Connector, defineConnector, type SyncContext, type SyncResult } from '../../src/index.ts';

/** A connector whose `sync` may return or throw anything. */
export function connector(
  sync: (context: SyncContext) => unknown = () => ({ signals: [] }),
  provider = 'github',
): Connector {
  return defineConnector({
    provider,
    name: provider,
    sync: async (context) => (await sync(context)) as SyncResult,
  });
}

export const signal = (payload: unknown, dedupeKey?: string) => ({
  kind: 'item.created',
  occurredAt: '2025-01-01T10:00:00Z',
  payload,
  dedupeKey,
});
