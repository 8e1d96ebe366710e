import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, bundleScript } from '../support/bundle.ts';
import { useDatabase } from '../support/database.ts';
import { type Running, startProcess } from '../support/process.ts';
import { sampled, sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import { limitedProvider, type ProviderOptions } from './limited-provider.ts';

const database = useDatabase();
let spender: Bundle;
beforeAll(async () => {
  spender = await bundleScript('test/support/fixtures/spender.mjs');
});
afterAll(() => spender?.remove());

interface SpenderOptions {
  provider: string;
  limit: number;
  perSeconds: number;
  credentialId: string;
  until: 'empty' | 'sigterm';
  lanes?: number;
}

function start(options: SpenderOptions): Running {
  const { limit, perSeconds, lanes = 10, ...rest } = options;
  const budget = { name: 'core', per: 'credential', limit, perSeconds };
  return startProcess(process.execPath, [
    spender.script,
    JSON.stringify({ database: database.url, budget, lanes, ...rest }),
  ]);
}

interface SpenderResult {
  requests: number;
  refused: number;
  statements: number;
}

async function end(spenders: Running[]): Promise<SpenderResult> {
  // On a busy machine one of them may still be starting, and a signal would end it without a result.
  await Promise.all(spenders.map((spender) => spender.output(/^ready$/m)));
  for (const { process: child } of spenders) child.kill('SIGTERM');
  const results = await Promise.all(
    spenders.map(async ({ finished }) => {
      const { stdout, stderr } = await finished;
      const line = /^done (.*)$/m.exec(stdout)?.[1];
      if (line === undefined) throw new Error(`no result: ${stdout}${stderr}`);
      return JSON.parse(line) as SpenderResult;
    }),
  );
  const sum = (key: keyof SpenderResult) => results.reduce((total, result) => total + result[key], 0);
  return { requests: sum('requests'), refused: sum('refused'), statements: sum('statements') };
}

const startFleet = (options: SpenderOptions) => Array.from({ length: sized(4, 2) }, () => start(options));
const hour = { limit: sized(5000, 1000), perSeconds: 3600 };

describe('budgets: several processes share a budget', () => {
  it('budgets: several processes use up an hourly limit without exceeding it', async () => {
    const provider = await limitedProvider({ limit: hour.limit, periodMs: 3_600_000, reports: 'epoch' });
    const credentialId = '00000000-0000-4000-8000-0000000000a1';
    const spenders = startFleet({ provider: provider.url, ...hour, credentialId, until: 'empty' });
    await Promise.all(spenders.map((spender) => spender.output(/^empty$/m)));
    const { requests, refused, statements } = await end(spenders);
    expect(refused).toBe(0);
    expect(provider.windows).toEqual([requests]);
    expect(requests).toBeLessThanOrEqual(hour.limit);
    expect(requests).toBeGreaterThanOrEqual(hour.limit * 0.95);
    // A block is a share of the limit, so the limit does not change the number of statements.
    expect(statements).toBeLessThan(475);
  });

  it("budgets: learns other clients' use and the end of the window from responses", async () => {
    const alignedToMs = Date.now() - 1_234_567;
    const usedByOthers = hour.limit * 0.3;
    const provider = await limitedProvider({
      limit: hour.limit,
      periodMs: 3_600_000,
      alignedToMs,
      usedByOthers,
      reports: 'epoch',
    });
    const credentialId = '00000000-0000-4000-8000-0000000000a2';
    const spenders = startFleet({ provider: provider.url, ...hour, credentialId, until: 'empty' });
    await Promise.all(spenders.map((spender) => spender.output(/^empty$/m)));
    const { requests, refused } = await end(spenders);
    expect(refused).toBe(0);
    expect(provider.windows).toEqual([usedByOthers + requests]);
    expect(requests).toBeLessThanOrEqual(hour.limit - usedByOthers);
    expect(requests).toBeGreaterThanOrEqual((hour.limit - usedByOthers) * 0.95);
    const [row] = await database.sql<{ resets_at: Date }>(
      'SELECT resets_at FROM budgets WHERE credential_id = $1',
      [credentialId],
    );
    const endsAtMs = alignedToMs + 3_600_000;
    expect(Math.abs((row?.resets_at.getTime() ?? 0) - endsAtMs)).toBeLessThan(3000);
  });

  /** Several processes use up several windows of a provider. */
  async function useWindows(windows: Pick<ProviderOptions, 'reports' | 'alignedToMs'>, credentialId: string) {
    // Long enough that on a busy machine no request takes half a window to arrive.
    const periodMs = 6000;
    const provider = await limitedProvider({ limit: 300, periodMs, ...windows });
    const options = { provider: provider.url, limit: 300, perSeconds: periodMs / 1000, credentialId };
    const spenders = startFleet({ ...options, until: 'sigterm' });
    const enough = sized(3, 1);
    await until(`${enough} windows have ended`, () => provider.windows.length > enough);
    const { refused } = await end(spenders);
    return { maxRequests: Math.max(...provider.windows), refused };
  }

  it.each(
    sampled(
      [
        ['that start with a request', undefined, 'b1'],
        ['that start at fixed times', 1_234_567_890_123, 'b2'],
      ] as const,
      2,
    ),
  )('budgets: no request exceeds the limit of windows %s', async (_name, alignedToMs, id) => {
    const windows = { reports: 'after', ...(alignedToMs !== undefined && { alignedToMs }) } as const;
    const { maxRequests, refused } = await useWindows(windows, `00000000-0000-4000-8000-0000000000${id}`);
    expect(maxRequests).toBeLessThanOrEqual(300);
    expect(refused).toBe(0);
  });

  it('budgets: a provider that does not report its windows gets at most twice its limit', async () => {
    const { maxRequests } = await useWindows({ reports: 'nothing' }, '00000000-0000-4000-8000-0000000000c1');
    expect(maxRequests).toBeLessThanOrEqual(600);
  });

  it('budgets: a killed process loses at most its leased block', async () => {
    const provider = await limitedProvider({ limit: 1000, periodMs: 3_600_000, reports: 'epoch' });
    const credentialId = '00000000-0000-4000-8000-0000000000d1';
    const options = { provider: provider.url, limit: 1000, perSeconds: 3600, credentialId };
    const killed = start({ ...options, until: 'sigterm', lanes: 1 });
    await until('it has tokens', () => (provider.windows[0] ?? 0) > 3);
    killed.process.kill('SIGKILL');
    await killed.finished;
    const other = start({ ...options, until: 'empty' });
    await other.output(/^empty$/m);
    expect((await end([other])).refused).toBe(0);
    // A block is a fiftieth of the limit; one more request was in flight.
    expect(provider.windows[0]).toBeGreaterThanOrEqual(1000 - 21);
    expect(provider.windows[0]).toBeLessThanOrEqual(1000);
  });
});
