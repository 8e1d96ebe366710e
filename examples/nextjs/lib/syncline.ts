import { createSyncline, defineConnector, type Syncline } from 'syncline';

const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  sync: async () => ({ signals: [{ kind: 'issue.opened', occurredAt: new Date(), payload: { id: 1 } }] }),
});

const shared = globalThis as typeof globalThis & { syncline?: Syncline };

/** One instance per process: Next.js loads this module once for routes and once for `instrumentation.ts`. */
export function getSyncline(): Syncline {
  shared.syncline ??= createSyncline({
    database: process.env.DATABASE_URL,
    connectors: [tracker],
    log: { level: 'warn' },
  });
  return shared.syncline;
}
