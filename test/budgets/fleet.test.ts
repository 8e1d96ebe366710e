import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { type Running, startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { limitedProvider, type ProviderOptions } from './limited-provider.ts';

const database = useDatabase();
const spender = fileURLToPath(new URL('../support/fixtures/spender.mjs', import.meta.url));

interface SpenderOptions {
  provider: string;
  limit: number;
  perSeconds: number;
  credentialId: string;
  until: 'empty' | 'told';
  lanes?: number;
}

function start(options: SpenderOptions): Running {
  const { limit, perSeconds, lanes = 10, ...rest } = options;
  const budget = { name: 'core', per: 'credential', limit, perSeconds };
  return startProcess(process.execPath, [
    spender,
    JSON.stringify({ database: database.url, budget, lanes, ...rest }),
  ]);
}

interface Told {
  requests: number;
  refused: number;
  statements: number;
}

async function end(spenders: Running[]): Promise<Told> {
  for (const { process: child } of spenders) child.kill('SIGTERM');
  const told = await Promise.all(
    spenders.map(async ({ finished }) => {
      const { stdout, stderr } = await finished;
      const line = /^done (.*)$/m.exec(stdout)?.[1];
      if (line === undefined) throw new Error(`it did not end well: ${stdout}${stderr}`);
      return JSON.parse(line) as Told;
    }),
  );
  const sum = (pick: (one: Told) => number) => told.reduce((all, one) => all + pick(one), 0);
  return {
    requests: sum((one) => one.requests),
    refused: sum((one) => one.refused),
    statements: sum((one) => one.statements),
  };
}

const four = (options: SpenderOptions) => Array.from({ length: 4 }, () => start(options));
const hour = { limit: 5000, perSeconds: 3600 };

describe('budgets: a fleet shares one', () => {
  it('budgets: four processes use a credential with 5,000 requests an hour up, and never exceed it', async () => {
    const provider = await limitedProvider({ limit: 5000, periodMs: 3_600_000, tells: 'epoch' });
    const credentialId = '00000000-0000-4000-8000-0000000000a1';
    const spenders = four({ provider: provider.url, ...hour, credentialId, until: 'empty' });
    await Promise.all(spenders.map((one) => one.output(/^empty$/m)));
    const { requests, refused, statements } = await end(spenders);
    expect(refused).toBe(0);
    expect(provider.windows).toEqual([requests]);
    expect(requests).toBeLessThanOrEqual(5000);
    expect(requests).toBeGreaterThanOrEqual(4750);
    expect(statements / requests).toBeLessThan(0.1);
  });

  it('budgets: what somebody else has used, and when the window ends, is learned from the answers', async () => {
    const alignedToMs = Date.now() - 1_234_567;
    const provider = await limitedProvider({
      limit: 5000,
      periodMs: 3_600_000,
      alignedToMs,
      usedByOthers: 1500,
      tells: 'epoch',
    });
    const credentialId = '00000000-0000-4000-8000-0000000000a2';
    const spenders = four({ provider: provider.url, ...hour, credentialId, until: 'empty' });
    await Promise.all(spenders.map((one) => one.output(/^empty$/m)));
    const { requests, refused } = await end(spenders);
    expect(refused).toBe(0);
    expect(provider.windows).toEqual([1500 + requests]);
    expect(requests).toBeLessThanOrEqual(3500);
    expect(requests).toBeGreaterThanOrEqual(3500 * 0.95);
    const [row] = await database.sql<{ resets_at: Date }>(
      'SELECT resets_at FROM budgets WHERE credential_id = $1',
      [credentialId],
    );
    const endsAtMs = alignedToMs + 3_600_000;
    expect(Math.abs((row?.resets_at.getTime() ?? 0) - endsAtMs)).toBeLessThan(3000);
  });

  /** Several windows of a provider, used up by four processes. */
  async function useWindows(told: Pick<ProviderOptions, 'tells' | 'alignedToMs'>, credentialId: string) {
    // A request may take half a window to arrive: less than this would be too little for a machine that is busy.
    const periodMs = 6000;
    const provider = await limitedProvider({ limit: 300, periodMs, ...told });
    const options = { provider: provider.url, limit: 300, perSeconds: periodMs / 1000, credentialId };
    const spenders = four({ ...options, until: 'told' });
    await until('three windows are over', () => provider.windows.length > 3, 50_000);
    const { refused } = await end(spenders);
    return { most: Math.max(...provider.windows), refused };
  }

  it.each([
    ['begin with a request', undefined, 'b1'],
    ['begin when the provider likes', 1_234_567_890_123, 'b2'],
  ])('budgets: no window ever has more than its limit, where they %s', async (_where, alignedToMs, id) => {
    const told = { tells: 'after', ...(alignedToMs !== undefined && { alignedToMs }) } as const;
    const { most, refused } = await useWindows(told, `00000000-0000-4000-8000-0000000000${id}`);
    expect(most).toBeLessThanOrEqual(300);
    expect(refused).toBe(0);
  });

  it('budgets: a provider that does not tell when its windows end sees twice its limit at most', async () => {
    const { most } = await useWindows({ tells: 'nothing' }, '00000000-0000-4000-8000-0000000000c1');
    expect(most).toBeLessThanOrEqual(600);
  });

  it('budgets: a process that is killed takes its block with it, and no more', async () => {
    const provider = await limitedProvider({ limit: 1000, periodMs: 3_600_000, tells: 'epoch' });
    const credentialId = '00000000-0000-4000-8000-0000000000d1';
    const options = { provider: provider.url, limit: 1000, perSeconds: 3600, credentialId };
    const killed = start({ ...options, until: 'told', lanes: 1 });
    await until('it has tokens', () => (provider.windows[0] ?? 0) > 3);
    killed.process.kill('SIGKILL');
    await killed.finished;
    const other = start({ ...options, until: 'empty' });
    await other.output(/^empty$/m);
    expect((await end([other])).refused).toBe(0);
    // A fiftieth of the limit, and the request whose answer it did not live to see.
    expect(provider.windows[0]).toBeGreaterThanOrEqual(1000 - 21);
    expect(provider.windows[0]).toBeLessThanOrEqual(1000);
  });
});
