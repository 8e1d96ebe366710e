import { expect, it, vi } from 'vitest';
import { startProgress } from '../../src/cli/progress.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();

it('progress: the number of jobs run and signals stored is printed', async () => {
  const signal = { kind: 'item', occurredAt: new Date(), payload: {} };
  const connector = { provider: 'github', name: 'GitHub', sync: async () => ({ signals: [signal, signal] }) };
  const progress = startProgress(1);
  const printed = new Promise<string>((resolve) => {
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => {
      if (!`${line}`.includes(' 0 ')) resolve(`${line}`);
      return true;
    });
  });
  try {
    const engine = database.engine({ connectors: [connector], telemetry: progress.providers });
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    await engine.connections.trigger(id);
    await engine.drain();
    expect(await printed).toBe('… 1 job run, 2 new signals stored\n');
  } finally {
    progress.stop();
    vi.restoreAllMocks();
  }
});
