import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { serveCommands } from '../../tools/serve-commands.ts';
import { nowMs } from '../../tools/text.ts';
import { everyMinute, hourlyLater, minuteOf, type PeerLoad, type PeerTimes, untilCount } from '../peers.ts';

const queue = 'sync';
const passes = 7;

/** A pass starts with its claim, reads all schedules and ends with the insert of the due jobs. */
function createTimedDb(pool: pg.Pool, passMs: number[]) {
  let claimedAt = 0;
  let isPass = false;
  return {
    async executeSql(text: string, values?: unknown[]) {
      if (/cron_on/.test(text) && /claim/.test(text)) claimedAt = nowMs();
      const result = await pool.query(text, values);
      if (/FROM \S*\.schedule\s+ORDER BY/i.test(text)) isPass = true;
      else if (isPass && /INSERT INTO/i.test(text) && /send-it/.test(text + JSON.stringify(values ?? ''))) {
        isPass = false;
        passMs.push(nowMs() - claimedAt);
      }
      return result;
    },
  };
}

async function measure({ url, schedules, due }: PeerLoad): Promise<PeerTimes> {
  const passMs: number[] = [];
  const lagsMs: number[] = [];
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  pool.on('error', () => {});
  const boss = new PgBoss({
    db: createTimedDb(pool, passMs),
    cronMonitorIntervalSeconds: 1,
    cronWorkerIntervalSeconds: 1,
  });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(queue);
  const started = nowMs();
  for (let n = 0; n < due; n++)
    await boss.schedule(queue, hourlyLater(n), { account: `account-${n}` }, { key: `connection-${n}` });
  const scheduleMs = (nowMs() - started) / due;
  await pool.query(
    `INSERT INTO pgboss.schedule (name, key, kind, cron, timezone, data, options)
     SELECT name, 'connection-' || n, kind, ($3::text[])[1 + n % 30], timezone, jsonb_build_object('account', 'account-' || n), options
     FROM pgboss.schedule s CROSS JOIN generate_series($1::int, $2::int) n WHERE s.key = 'connection-0'`,
    [due, schedules - 1, Array.from({ length: 30 }, (_, n) => hourlyLater(n))],
  );
  await pool.query('VACUUM ANALYZE pgboss.schedule');
  await pool.query(`UPDATE pgboss.schedule SET cron = $1 WHERE name = $2 AND substr(key, 12)::int < $3`, [
    everyMinute,
    queue,
    due,
  ]);
  const firstMinute = minuteOf(nowMs()) + 60_000;
  await boss.work(queue, { pollingIntervalSeconds: 0.5, batchSize: 100 }, async (jobs) => {
    const now = nowMs();
    // Jobs of the current minute were due before their schedules existed.
    if (minuteOf(now) >= firstMinute) for (const _job of jobs) lagsMs.push(now - minuteOf(now));
  });
  await untilCount(() => (lagsMs.length >= due ? passMs.length : 0), passes, 75_000);
  await boss.stop({ graceful: false });
  await pool.end();
  return { schedules, scheduleMs, passMs: passMs.slice(-passes), lagsMs: lagsMs.slice(0, due) };
}

serveCommands({ measure });
