import type { Config } from '../config/settings.ts';
import type { Database } from '../store/database.ts';
import { findSchedulers, tickStateOf } from '../store/schedulers.ts';
import { checkSchema } from '../store/schema-version.ts';

/** For health probes. */
export interface Status {
  schemaVersion: number;
  lastTickAt: Date | undefined;
  /** Three tick intervals, or an hour for cron; then scheduling has stopped. */
  maxTickAgeSeconds: number;
  /** Database time (DB-6), for comparison with `lastTickAt`. */
  now: Date;
}

/** A busy pool must not fail a health probe. */
export const createStatus =
  (
    probe: Pick<Database, 'query' | 'schema' | 'tables' | 'lookup' | 'now'>,
    { database: { schema }, scheduler: { tickIntervalSeconds } }: Config,
  ) =>
  async (): Promise<Status> => {
    const schemaVersion = await checkSchema(probe, schema);
    const now = await probe.now();
    const { lastAt, maxAgeSeconds } = tickStateOf(await findSchedulers(probe), now, tickIntervalSeconds);
    return { schemaVersion, lastTickAt: lastAt, maxTickAgeSeconds: maxAgeSeconds, now };
  };
