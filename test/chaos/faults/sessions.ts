import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { troubles } from '../fleet.ts';
import type { Fault } from '../world.ts';

const ofTheFleet = `pg_stat_activity WHERE application_name LIKE 'syncline%' AND pid <> pg_backend_pid()`;

const backendsTerminated: Fault = {
  kind: 'backends',
  lane: 'database',
  strike: ({ postgres: { sql }, recovery }) =>
    recovery.during(async () => {
      const ended = await sql(`SELECT pg_terminate_backend(pid) FROM ${ofTheFleet} AND random() < 0.5`);
      return ended.length > 0 ? 1 : 0;
    }),
};

/** Somebody takes every connection that there is; the fleet loses those it has, and gets no others. */
const connectionsTaken: Fault = {
  kind: 'pool-full',
  lane: 'database',
  strike: ({ postgres, fleet, recovery, chance }) =>
    recovery.during(async () => {
      const before = fleet.heard(troubles['no connection left']);
      const isHeard = () => fleet.heard(troubles['no connection left']) > before;
      const hogs: pg.Client[] = [];
      const beganAt = Date.now();
      const minMs = 1500 + chance.below(2000);
      const isOver = (ms: number) => ms > maxMs || (ms > minMs && isHeard());
      try {
        await postgres.sql(`SELECT pg_terminate_backend(pid) FROM ${ofTheFleet}`);
        while (!isOver(Date.now() - beganAt)) {
          const made = await Promise.allSettled(Array.from({ length: 8 }, () => postgres.session()));
          for (const one of made) if (one.status === 'fulfilled') hogs.push(one.value);
          await delay(made.every(({ status }) => status === 'fulfilled') ? 0 : 200);
        }
      } finally {
        await Promise.all(hogs.map((hog) => hog.end().catch(() => {})));
      }
      return isHeard() ? 1 : 0;
    }),
};
const maxMs = 10_000;

/** Locks that somebody takes and keeps: of rows, or of a whole table. */
const locks = [
  'SELECT FROM syncline.connections WHERE random() < 0.3 FOR UPDATE',
  `SELECT FROM syncline.sync_jobs WHERE status IN ('queued', 'running') AND random() < 0.5 FOR UPDATE`,
  'LOCK TABLE syncline.connections IN ACCESS EXCLUSIVE MODE',
  'LOCK TABLE syncline.sync_jobs IN ACCESS EXCLUSIVE MODE',
  'LOCK TABLE syncline.signals IN EXCLUSIVE MODE',
  'LOCK TABLE syncline.processes IN ACCESS EXCLUSIVE MODE',
];

const locksKept: Fault = {
  kind: 'locks',
  lane: 'database',
  often: 2,
  strike: async ({ postgres, recovery, chance }) => {
    const hog = await postgres.session();
    try {
      return await recovery.during(async () => {
        await hog.query(`BEGIN; SET LOCAL lock_timeout = '10s'; ${chance.pick(locks)}`);
        await delay(1500 + chance.below(3000));
        await hog.query('ROLLBACK');
        return 1;
      });
    } finally {
      await hog.end().catch(() => {});
    }
  },
};

export const sessionFaults = [backendsTerminated, connectionsTaken, locksKept];
