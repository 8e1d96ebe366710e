import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { watchFailures } from '../../src/runtime/hopeless.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { silent } from '../support/database.ts';

const refusal = (code: string) => Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code });

function watched() {
  const told: string[] = [];
  let nowMs = 0;
  const telemetry = createTelemetry(silent, { tenantLabel: false, host: '', port: 0 }, (error) => error);
  const watch = watchFailures(
    { ...telemetry, roundFailed: (role) => void told.push(role) },
    { monotonicMs: () => nowMs },
  );
  return {
    told,
    failAt: (seconds: number, role: string, error: unknown) => {
      nowMs = seconds * 1000;
      watch.telemetry.roundFailed(role, error, 0);
    },
    hasEnded: () =>
      Promise.race([watch.hopeless.then(() => true), new Promise(setImmediate).then(() => false)]),
  };
}

describe('a drain ends', () => {
  it.each(['42501', '42P01', '3F000', '28P01', '3D000'])(
    'EXE-10: where no retry helps (%s)',
    async (code) => {
      const { failAt, hasEnded, told } = watched();
      failAt(0, 'executor', refusal(code));
      expect(await hasEnded()).toBe(true);
      expect(told).toEqual(['executor']);
    },
  );

  it('EXE-10: after two minutes without a heartbeat, and not before', async () => {
    const { failAt, hasEnded } = watched();
    for (let seconds = 0; seconds < 120; seconds += 10) failAt(seconds, 'heartbeat', new Error('timeout'));
    expect(await hasEnded()).toBe(false);
    failAt(121, 'heartbeat', new Error('timeout'));
    expect(await hasEnded()).toBe(true);
  });

  it('EXE-10: and goes on through passing failures', async () => {
    const { failAt, hasEnded } = watched();
    for (let seconds = 0; seconds < 1000; seconds += 10) failAt(seconds, 'commit', refusal('55P03'));
    for (let seconds = 1000; seconds < 2000; seconds += 60) failAt(seconds, 'heartbeat', refusal('57P01'));
    expect(await hasEnded()).toBe(false);
  });
});
