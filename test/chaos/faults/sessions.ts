import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Fault } from '../fault.ts';
import { logPatterns } from '../fleet.ts';

const fleetSessions = `pg_stat_activity WHERE application_name LIKE 'syncline%' AND pid <> pg_backend_pid()`;

const backendsTerminated: Fault = {
  kind: 'backends',
  lane: 'database',
  inject: ({ postgres: { sql }, recovery }) =>
    recovery.duringFault(async () => {
      const terminated = await sql(
        `SELECT pg_terminate_backend(pid) FROM ${fleetSessions} AND random() < 0.5`,
      );
      return terminated.length > 0 ? 1 : 0;
    }),
};

/** Terminates the connections of the fleet and takes all connection slots of the server. */
const connectionsTaken: Fault = {
  kind: 'pool-full',
  lane: 'database',
  inject: ({ postgres, fleet, recovery, chance }) =>
    recovery.duringFault(async () => {
      const before = fleet.logCount(logPatterns['no connection left']);
      const isLogged = () => fleet.logCount(logPatterns['no connection left']) > before;
      const clients: pg.Client[] = [];
      const startedAt = Date.now();
      const minMs = 1500 + chance.below(2000);
      const isDone = (ms: number) => ms > maxMs || (ms > minMs && isLogged());
      try {
        await postgres.sql(`SELECT pg_terminate_backend(pid) FROM ${fleetSessions}`);
        while (!isDone(Date.now() - startedAt)) {
          const connected = await Promise.allSettled(Array.from({ length: 8 }, () => postgres.session()));
          for (const result of connected) if (result.status === 'fulfilled') clients.push(result.value);
          await delay(connected.every(({ status }) => status === 'fulfilled') ? 0 : 200);
        }
      } finally {
        await Promise.all(clients.map((client) => client.end().catch(() => {})));
      }
      return isLogged() ? 1 : 0;
    }),
};
const maxMs = 10_000;

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
  perRound: 2,
  inject: async ({ postgres, recovery, chance }) => {
    const locker = await postgres.session();
    try {
      return await recovery.duringFault(async () => {
        await locker.query(`BEGIN; SET LOCAL lock_timeout = '10s'; ${chance.pick(locks)}`);
        await delay(1500 + chance.below(3000));
        await locker.query('ROLLBACK');
        return 1;
      });
    } finally {
      await locker.end().catch(() => {});
    }
  },
};

export const sessionFaults = [backendsTerminated, connectionsTaken, locksKept];
