import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { watchFailures } from '../../src/runtime/failure-watch.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { silent } from '../support/database.ts';

const databaseError = (code: string) => Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code });

function startWatch() {
  const reported: string[] = [];
  let nowMs = 0;
  const telemetry = createTelemetry(
    silent,
    { tenantLabel: false, host: '', port: 0 },
    { explain: (error) => error, monotonicMs: () => 0 },
  );
  const watch = watchFailures(
    { ...telemetry, roundFailed: (role) => void reported.push(role) },
    { monotonicMs: () => nowMs },
  );
  return {
    reported,
    failAt: (seconds: number, role: string, error: unknown) => {
      nowMs = seconds * 1000;
      watch.telemetry.roundFailed(role, error, 0);
    },
    hasEnded: () =>
      Promise.race([watch.hopeless.then(() => true), new Promise(setImmediate).then(() => false)]),
  };
}

describe('EXE-10: a drain', () => {
  it.each(['42501', '42P01', '3F000', '28P01', '3D000'])(
    'EXE-10: ends on an error that no retry fixes (%s)',
    async (code) => {
      const { failAt, hasEnded, reported } = startWatch();
      failAt(0, 'executor', databaseError(code));
      expect(await hasEnded()).toBe(true);
      expect(reported).toEqual(['executor']);
    },
  );

  it('EXE-10: ends after two minutes without a heartbeat', async () => {
    const { failAt, hasEnded } = startWatch();
    for (let seconds = 0; seconds < 120; seconds += 10) failAt(seconds, 'heartbeat', new Error('timeout'));
    expect(await hasEnded()).toBe(false);
    failAt(121, 'heartbeat', new Error('timeout'));
    expect(await hasEnded()).toBe(true);
  });

  it('EXE-10: continues through transient failures', async () => {
    const { failAt, hasEnded } = startWatch();
    for (let seconds = 0; seconds < 1000; seconds += 10) failAt(seconds, 'commit', databaseError('55P03'));
    for (let seconds = 1000; seconds < 2000; seconds += 60)
      failAt(seconds, 'heartbeat', databaseError('57P01'));
    expect(await hasEnded()).toBe(false);
  });
});
