import { type Caller, requireOperator } from '../caller/caller.ts';
import { type Config, settings } from '../config/settings.ts';
import type { Database } from '../store/database.ts';
import { appliedVersion } from '../store/migrate.ts';
import { findProcesses } from '../store/processes.ts';
import { findSchedulers } from '../store/schedulers.ts';
import {
  countQueue,
  databaseBytes,
  type QueueCounts,
  runningByProcess,
  type TableRow,
  tableSizes,
} from '../store/stats.ts';

export interface ProcessInfo {
  id: string;
  host: string | undefined;
  pid: number | undefined;
  roles: ('executor' | 'scheduler')[];
  concurrency: number | undefined;
  providers: string[];
  startedAt: Date;
  expiresAt: Date | undefined;
  tickedAt: Date | undefined;
  /** Its clock minus the database's. */
  clockSkewSeconds: number;
  alive: boolean;
  running: number;
}

export interface SystemInfo {
  node: string;
  schema: string;
  schemaVersion: number;
  processes: ProcessInfo[];
  queue: QueueCounts;
  tables: TableRow[];
  databaseBytes: number;
  retention: Config['retention'];
  /** Effective values; secrets are masked. */
  config: { path: string; value: string; about: string }[];
}

export function createSystem({ db, who, config }: { db: Database; who: Caller; config: Config }) {
  return async (): Promise<SystemInfo> => {
    requireOperator(who, 'see the system');
    return db.transaction(async (tx) => {
      const { now } = tx;
      const running = await runningByProcess(tx);
      const executors = (await findProcesses(tx, now)).map(
        (row): ProcessInfo => ({
          id: row.id,
          host: row.host ?? undefined,
          pid: row.pid ?? undefined,
          roles: ['executor'],
          concurrency: row.concurrency,
          providers: row.providers,
          startedAt: row.started_at,
          expiresAt: row.expires_at,
          tickedAt: undefined,
          alive: row.alive,
          running: running.get(row.id) ?? 0,
          clockSkewSeconds: row.clock_skew_seconds,
        }),
      );
      const maxSilenceMs = 3 * config.scheduler.tickIntervalSeconds * 1000;
      const schedulers = (await findSchedulers(tx)).map(
        (row): ProcessInfo => ({
          id: row.id,
          host: row.host,
          pid: row.pid,
          roles: ['scheduler'],
          concurrency: undefined,
          providers: [],
          startedAt: row.started_at,
          expiresAt: undefined,
          tickedAt: row.ticked_at,
          alive: row.ticked_at.getTime() > now.getTime() - maxSilenceMs,
          running: 0,
          clockSkewSeconds: row.clock_skew_seconds,
        }),
      );
      return {
        node: process.version,
        schema: config.database.schema,
        schemaVersion: await appliedVersion(tx),
        processes: [...executors, ...schedulers],
        queue: await countQueue(tx, now),
        tables: await tableSizes(tx),
        databaseBytes: await databaseBytes(tx),
        retention: config.retention,
        config: effectiveConfig(config),
      };
    });
  };
}

function effectiveConfig(config: Config): SystemInfo['config'] {
  return Object.entries(settings).flatMap(([section, entries]) =>
    Object.entries(entries).map(([key, { show, about }]) => {
      const values = config[section as keyof Config] as Record<string, unknown>;
      return { path: `${section}.${key}`, value: show(values[key]), about };
    }),
  );
}
