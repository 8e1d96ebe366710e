import type { TestDatabase } from './database.ts';

const tables = ['signals', 'feed', 'feed_start', 'consumers'];

/** Copies the feed tables and restores them, as from a backup. */
export function feedBackups(database: TestDatabase, schema = 'backup') {
  const { sql, session } = database;
  let backupCount = 0;
  return {
    async take(): Promise<number> {
      const n = ++backupCount;
      await sql(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      for (const table of tables)
        await sql(`CREATE TABLE ${schema}.${table}_${n} AS TABLE syncline.${table}`);
      await sql(`CREATE TABLE ${schema}.sequence_${n} AS SELECT last_value, is_called FROM feed_position`);
      return n;
    },

    /** `sequence: false`: logical replication does not copy sequences. */
    async restore(n: number, { sequence = true }: { sequence?: boolean } = {}): Promise<void> {
      const client = await session();
      await client.query('BEGIN');
      await client.query('SET LOCAL session_replication_role = replica');
      for (const table of tables) {
        await client.query(`DELETE FROM syncline.${table}`);
        await client.query(`INSERT INTO syncline.${table} SELECT * FROM ${schema}.${table}_${n}`);
      }
      await client.query(
        sequence
          ? `SELECT setval('syncline.feed_position', last_value, is_called) FROM ${schema}.sequence_${n}`
          : `SELECT setval('syncline.feed_position', 1, false)`,
      );
      await client.query('COMMIT');
      await client.end();
    },
  };
}
