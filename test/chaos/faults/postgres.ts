import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, FaultContext } from '../fault.ts';
import { logPatterns } from '../fleet.ts';

async function outage(context: FaultContext, signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<number> {
  const { postgres, work, recovery, chance } = context;
  const backAt = await recovery.duringFault(async () => {
    await postgres.end(signal);
    await delay(500 + chance.below(2500));
    return postgres.start();
  });
  await work.enqueue(20);
  await recovery.awaitFirstCommit(backAt);
  return 1;
}

const postgresKill: Fault = {
  kind: 'postgres-kill',
  lane: 'database',
  inject: (context) => outage(context, 'SIGKILL'),
};

const postgresImmediate: Fault = {
  kind: 'postgres-immediate',
  lane: 'database',
  inject: (context) => outage(context, 'SIGQUIT'),
};

const postgresFast: Fault = {
  kind: 'postgres-fast',
  lane: 'database',
  inject: (context) => outage(context, 'SIGINT'),
};

async function untilLogged({ fleet, chance }: FaultContext, pattern: RegExp): Promise<boolean> {
  const before = fleet.logCount(pattern);
  const endsAt = Date.now() + maxMs;
  await delay(1000 + chance.below(2000));
  while (fleet.logCount(pattern) === before && Date.now() < endsAt) await delay(50);
  return fleet.logCount(pattern) > before;
}
const maxMs = 10_000;

const readOnly: Fault = {
  kind: 'read-only',
  lane: 'database',
  inject: (context) =>
    context.recovery.duringFault(async () => {
      const { sql } = context.postgres;
      await sql('ALTER SYSTEM SET default_transaction_read_only = on');
      await sql('SELECT pg_reload_conf()');
      const isLogged = await untilLogged(context, logPatterns['read-only']);
      await sql('ALTER SYSTEM RESET default_transaction_read_only');
      await sql('SELECT pg_reload_conf()');
      return isLogged ? 1 : 0;
    }),
};

/** The server may exit, and is then restarted. */
const diskFull: Fault = {
  kind: 'disk-full',
  lane: 'database',
  skipReason: ({ disk }) => (disk.fill ? undefined : 'this process may not mount a file system'),
  inject: async (context) => {
    const { disk, postgres, recovery } = context;
    const { isLogged, backAt } = await recovery.duringFault(async () => {
      disk.fill?.();
      await postgres
        .sql('CREATE TABLE public.filler AS SELECT repeat(md5(i::text), 50) FROM generate_series(1, 20000) i')
        .catch(() => {});
      const logged = await untilLogged(context, logPatterns['disk full']);
      disk.empty();
      return { isLogged: logged, backAt: await postgres.start() };
    });
    await postgres.sql('DROP TABLE IF EXISTS public.filler');
    await recovery.awaitFirstCommit(backAt);
    return isLogged ? 1 : 0;
  },
};

export const postgresFaults = [postgresKill, postgresImmediate, postgresFast, readOnly, diskFull];
