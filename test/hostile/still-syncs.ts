import { expect } from 'vitest';
import { connector, signal } from '../support/connector.ts';
import type { TestDatabase } from '../support/database.ts';

/** Expects that an engine on this database still schedules, runs and stores a connection. */
export async function stillSyncs(database: TestDatabase): Promise<void> {
  const provider = 'healthy';
  const engine = database.engine({
    connectors: [
      connector(() => ({ signals: [signal('well', 'one'), signal('well', 'two')], nextCursor: 2 }), provider),
    ],
  });
  const { id: tenantId } = await engine.tenants.create({ name: 'healthy' });
  const { id } = await engine.connections.create({ tenantId, provider });
  await engine.tick();
  await engine.drain();
  const { sync, health } = await engine.connections.get(id);
  const { items } = await engine.signals.list({ connectionId: id });
  expect({ health, cursor: sync.cursor, signals: items.map(({ dedupeKey }) => dedupeKey).sort() }).toEqual({
    health: 'ok',
    cursor: 2,
    signals: ['one', 'two'],
  });
}
