import { type Caller, requireOperator } from '../caller/caller.ts';
import { type Config, settings } from '../config/settings.ts';
import type { Database } from '../store/database.ts';
import { findProcesses } from '../store/processes.ts';
import { findSchedulers } from '../store/schedulers.ts';
import { appliedVersion } from '../store/schema-version.ts';
import { countQueue, databaseBytes, runningByProcess, tableSizes } from '../store/stats.ts';
import { executorFromRow, type SystemInfo, schedulerFromRow, tableFromRow } from './stats-model.ts';

export function createSystem({ db, caller, config }: { db: Database; caller: Caller; config: Config }) {
  return async (): Promise<SystemInfo> => {
    requireOperator(caller, 'see the system');
    return db.transaction(async (tx) => {
      const { now } = tx;
      const running = await runningByProcess(tx);
      const executors = (await findProcesses(tx, now)).map((row) =>
        executorFromRow(row, running.get(row.id) ?? 0),
      );
      const aliveAfterMs = now.getTime() - 3 * config.scheduler.tickIntervalSeconds * 1000;
      const schedulers = (await findSchedulers(tx)).map((row) =>
        schedulerFromRow(row, row.ticked_at.getTime() > aliveAfterMs),
      );
      return {
        node: process.version,
        schema: config.database.schema,
        schemaVersion: await appliedVersion(tx),
        processes: [...executors, ...schedulers],
        queue: await countQueue(tx, now),
        tables: (await tableSizes(tx)).map(tableFromRow),
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
