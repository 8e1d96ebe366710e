import { createSyncline, defineConnector } from 'syncline';

const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  sync: async () => ({ signals: [{ kind: 'issue.opened', occurredAt: new Date(), payload: { id: 1 } }] }),
});

export const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker],
  log: { level: 'warn' }, // keeps the engine's log out of this program's output
});
