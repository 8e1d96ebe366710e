import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { describeError } from '../errors.ts';
import { systemPorts } from '../ports.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';

/**
 * Stands in for a worker, so that the demo's jobs end and come round again: it does nothing but end each job when it is
 * due, in SQL, as any other service may.
 */
export function startDemoWorker({ url, schema }: Config['database'], log: Logger): Loop {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on('error', () => {});
  const loop = startLoop({
    ports: systemPorts,
    onFailure: (error) => log.debug(`demo worker: ${describeError(error)}`),
    runOnce: async () => {
      const { rows } = await pool.query<{ provider_slug: string }>(
        `UPDATE ${pg.escapeIdentifier(schema)}.sync_jobs
         SET status = 'succeeded', started_at = now(), finished_at = now(), updated_at = now()
         WHERE status = 'queued' AND scheduled_at <= now()
         RETURNING provider_slug`,
      );
      const ended = rows.map((row) => row.provider_slug).sort();
      if (ended.length > 0)
        log.info(`demo worker: ended ${ended.length} (${[...new Set(ended)].join(', ')})`);
      return 1000;
    },
  });
  return {
    stop: async () => {
      await loop.stop();
      await pool.end();
    },
  };
}
