import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { storeLargeSignals } from '../support/large-signals.ts';
import { type Running, startCli } from '../support/process.ts';
import { sampled } from '../support/size.ts';

const database = useDatabase();
/** As parsed values, and as text in one piece, they exceed the heap. */
const count = 100;

const listSignals = (option: string): Running =>
  startCli(['signals', 'list', '--limit', String(count), option], {
    env: { SYNCLINE_DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=64' },
  });

describe('memory of lists is bounded in bytes', () => {
  beforeAll(() => storeLargeSignals(database, count));

  it.each(sampled(['--json', '--payload'], 2))(
    'memory: `signals list %s` over payloads of 780 kB fits in a small heap',
    async (option) => {
      const { code, stdout, stderr } = await listSignals(option).finished;
      expect([code, stderr]).toEqual([0, '']);
      const signals: unknown[] =
        option === '--json' ? JSON.parse(stdout).signals : stdout.trimEnd().split('\n').slice(1);
      expect(signals).toHaveLength(count);
    },
  );

  it('memory: `signals list --json` waits for a slow reader', async () => {
    const { process, finished } = listSignals('--json');
    const stdout = process.stdout as Readable;
    // 64 kB each; without a wait, the command buffers its whole output meanwhile.
    for (let chunk = 0; chunk < 300; chunk++) {
      stdout.pause();
      await delay(10);
      stdout.resume();
      await Promise.race([once(stdout, 'data'), finished]);
    }
    const { code, stderr, stdout: text } = await finished;
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(text).signals).toHaveLength(count);
  });
});
