import { EventEmitter } from 'node:events';
import { Logger, parseCronItems, type Runner, run, type WorkerEvents } from 'graphile-worker';
import { obeyParent } from '../../tools/child.ts';
import { nowMs } from '../../tools/clock.ts';
import type { PeerAnswer, PeerOrder } from '../peers.ts';
import { everyMinute, hourlyLater, minuteOf, untilThere } from './minute.ts';

const concurrency = 100;
const silent = new Logger(() => () => {});

const itemsOf = ({ schedules, due }: PeerOrder) =>
  parseCronItems(
    Array.from({ length: schedules }, (_, n) => ({
      task: 'sync',
      match: n < due ? everyMinute : hourlyLater(n),
      identifier: `connection-${n}`,
      payload: { account: `account-${n}` },
    })),
  );

obeyParent(async (order: PeerOrder): Promise<PeerAnswer> => {
  const lagsMs: number[] = [];
  const passMs: number[] = [];
  const startsMs: number[] = [];

  async function start(): Promise<Runner> {
    const events: WorkerEvents = new EventEmitter();
    let startedAt = 0;
    events.on('cron:starting', () => {
      startedAt = nowMs();
    });
    const registered = new Promise<void>((resolve) => {
      events.on('cron:started', () => {
        startsMs.push(nowMs() - startedAt);
        resolve();
      });
    });
    events.on('cron:scheduled', ({ timestamp }) => passMs.push(nowMs() - timestamp));
    const runner = await run({
      connectionString: order.url,
      parsedCronItems: itemsOf(order),
      taskList: {
        sync: async (payload) => {
          const { _cron } = payload as { _cron: { ts: string } };
          lagsMs.push(nowMs() - minuteOf(Date.parse(_cron.ts)));
        },
      },
      events,
      noHandleSignals: true,
      logger: silent,
      preset: { worker: { concurrentJobs: concurrency, localQueue: { size: 500 } } },
    });
    await registered;
    return runner;
  }

  const runner = await start();
  const [startMs = 0] = startsMs;
  const { schedules, due } = order;
  if (order.isRestart) {
    await runner.stop();
    return { schedules, restartMs: startMs, passMs, lagsMs };
  }
  await untilThere(() => lagsMs.length, due, 65_000);
  await runner.stop();
  return { schedules, startMs, passMs, lagsMs };
});
