import { EventEmitter } from 'node:events';
import { Logger, parseCronItems, run, type WorkerEvents } from 'graphile-worker';
import { serveCommands } from '../../tools/serve-commands.ts';
import { nowMs } from '../../tools/text.ts';
import {
  everyMinute,
  hourlyLater,
  minuteOf,
  type PeerApi,
  type PeerLoad,
  type PeerTimes,
  untilCount,
} from '../peers.ts';

const concurrency = 100;
const silent = new Logger(() => () => {});

const itemsOf = ({ schedules, due }: PeerLoad) =>
  parseCronItems(
    Array.from({ length: schedules }, (_, n) => ({
      task: 'sync',
      match: n < due ? everyMinute : hourlyLater(n),
      identifier: `connection-${n}`,
      payload: { account: `account-${n}` },
    })),
  );

async function start(load: PeerLoad, isRestart: boolean): Promise<PeerTimes> {
  const { url, schedules, due } = load;
  const lagsMs: number[] = [];
  const passMs: number[] = [];
  const events: WorkerEvents = new EventEmitter();
  let startingAt = 0;
  events.on('cron:starting', () => {
    startingAt = nowMs();
  });
  const started = new Promise<number>((resolve) => {
    events.on('cron:started', () => resolve(nowMs() - startingAt));
  });
  events.on('cron:scheduled', ({ timestamp }) => passMs.push(nowMs() - timestamp));
  const runner = await run({
    connectionString: url,
    parsedCronItems: itemsOf(load),
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
  const startMs = await started;
  if (!isRestart) await untilCount(() => lagsMs.length, due, 65_000);
  await runner.stop();
  return { schedules, startMs, passMs, lagsMs };
}

serveCommands({
  measure: (load) => start(load, false),
  restart: (load) => start(load, true),
} satisfies PeerApi);
