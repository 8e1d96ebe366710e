import { setTimeout as delay } from 'node:timers/promises';
import { troubles } from '../fleet.ts';
import type { Fault, World } from '../world.ts';

/** Ends the server, and starts it again after a while. */
async function outage(world: World, signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<number> {
  const { postgres, work, recovery, chance } = world;
  const backAt = await recovery.during(async () => {
    await postgres.end(signal);
    await delay(500 + chance.below(2500));
    return postgres.start();
  });
  await work.push(20);
  await recovery.firstCommit(backAt);
  return 1;
}

const postgresKill: Fault = {
  kind: 'postgres-kill',
  lane: 'database',
  strike: (world) => outage(world, 'SIGKILL'),
};

const postgresImmediate: Fault = {
  kind: 'postgres-immediate',
  lane: 'database',
  strike: (world) => outage(world, 'SIGQUIT'),
};

const postgresFast: Fault = {
  kind: 'postgres-fast',
  lane: 'database',
  strike: (world) => outage(world, 'SIGINT'),
};

/** Goes on until the fleet complains of it, and a while longer; returns whether it did. */
async function untilHeard({ fleet, chance }: World, trouble: RegExp): Promise<boolean> {
  const before = fleet.heard(trouble);
  const endsAt = Date.now() + maxMs;
  await delay(1000 + chance.below(2000));
  while (fleet.heard(trouble) === before && Date.now() < endsAt) await delay(50);
  return fleet.heard(trouble) > before;
}
const maxMs = 10_000;

const readOnly: Fault = {
  kind: 'read-only',
  lane: 'database',
  strike: (world) =>
    world.recovery.during(async () => {
      const { sql } = world.postgres;
      await sql('ALTER SYSTEM SET default_transaction_read_only = on');
      await sql('SELECT pg_reload_conf()');
      const isHeard = await untilHeard(world, troubles['read-only']);
      await sql('ALTER SYSTEM RESET default_transaction_read_only');
      await sql('SELECT pg_reload_conf()');
      return isHeard ? 1 : 0;
    }),
};

/** The server may end over that, and is then started again. */
const diskFull: Fault = {
  kind: 'disk-full',
  lane: 'database',
  impossible: ({ disk }) => (disk.fill ? undefined : 'this process may not mount a disk of its own'),
  strike: async (world) => {
    const { disk, postgres, recovery } = world;
    const { isHeard, backAt } = await recovery.during(async () => {
      disk.fill?.();
      // The last bit of room, should there be any.
      await postgres
        .sql('CREATE TABLE public.filler AS SELECT repeat(md5(i::text), 50) FROM generate_series(1, 20000) i')
        .catch(() => {});
      const heard = await untilHeard(world, troubles['disk full']);
      disk.empty();
      return { isHeard: heard, backAt: await postgres.start() };
    });
    await postgres.sql('DROP TABLE IF EXISTS public.filler');
    await recovery.firstCommit(backAt);
    return isHeard ? 1 : 0;
  },
};

export const postgresFaults = [postgresKill, postgresImmediate, postgresFast, readOnly, diskFull];
