import type { Config } from '../config/settings.ts';
import type { Database } from '../store/database.ts';
import { lastTickAt } from '../store/schedulers.ts';
import { checkSchema } from '../store/schema-version.ts';

export interface Status {
  schemaVersion: number;
  lastTickAt: Date | undefined;
  tickIntervalSeconds: number;
  /** DB-6: the database's time, for comparison with `lastTickAt`. */
  now: Date;
}

/** On a connection of its own, so that a busy pool does not fail a health probe. */
export const createStatus =
  (
    probe: Pick<Database, 'query' | 'schema' | 'tables' | 'now'>,
    { database: { schema }, scheduler: { tickIntervalSeconds } }: Config,
  ) =>
  async (): Promise<Status> => ({
    schemaVersion: await checkSchema(probe, schema),
    lastTickAt: await lastTickAt(probe),
    tickIntervalSeconds,
    now: await probe.now(),
  });
