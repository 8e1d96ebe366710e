import type { TestDatabase } from './database.ts';
import { until } from './until.ts';

/** Backends report their statistics when they exit, which may be after the engine has stopped. */
export function untilSessionsEnd({ sql }: Pick<TestDatabase, 'sql'>): Promise<void> {
  return until('the sessions of the engine have ended', async () => {
    const sessions = await sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'syncline%'`,
    );
    return sessions.length === 0;
  });
}
