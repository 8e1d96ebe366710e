import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { chanceOf } from '../http/random.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { fuzzing, inRounds, timeoutMs } from './fuzz-rounds.ts';
import { generateResult } from './generated-results.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const { sql } = database;
const fuzz = fuzzing('results', 2000, 1000);

const healthyEvery = 20;
const isHealthy = (index: number) => index % healthyEvery === 0;
const healthy = { status: 'succeeded', signals: 1, cursor: 'well' } as const;

/** No failed job is retried during a round. */
const rateLimit = { baseSeconds: 3600, maxSeconds: 3600 };

const resultOf = (seed: number, index: number) => generateResult(chanceOf(seed * 1_000_003 + index));
const expectedOf = (seed: number, index: number) =>
  isHealthy(index) ? healthy : resultOf(seed, index).expected;

async function connectAll(count: number): Promise<void> {
  await database.empty();
  await sql(
    `WITH made AS (
       INSERT INTO connections (tenant_id, provider_slug, external_id)
       SELECT $1, 'github', i::text FROM generate_series(0, $2::int - 1) AS i RETURNING id)
     INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
     SELECT $1, 'github', id, 'incremental', '2025-01-01' FROM made`,
    [tenant, count],
  );
}

async function runRound(size: number, seed: number): Promise<string[]> {
  await connectAll(size);
  const engine = database.engine({
    rateLimit,
    executor: { concurrency: 200 },
    connectors: [
      connector(({ connection }) => {
        const index = Number(connection.externalId);
        return isHealthy(index)
          ? { signals: [signal('well')], nextCursor: 'well' }
          : resultOf(seed, index).make();
      }),
    ],
  });
  const { claimed, lost } = await engine.drain();
  await engine.stop();
  const rows = await sql<{
    index: number;
    status: string;
    signals: number;
    cursor: unknown;
    message: string | null;
  }>(
    `SELECT c.external_id::int AS index, j.status, j.error ->> 'message' AS message, c.metadata #> '{sync,cursor}' AS cursor,
       (SELECT count(*)::int FROM signals s WHERE s.connection_id = c.id) AS signals
     FROM connections c JOIN sync_jobs j ON j.connection_id = c.id`,
  );
  const faults = rows.flatMap(({ index, message, ...found }) => {
    const expected = expectedOf(seed, index);
    const hasRightMessage = (found.status === 'succeeded') === (message === null) && message !== '';
    return hasRightMessage && isDeepStrictEqual(found, { ...expected })
      ? []
      : [`result ${index}: ${JSON.stringify(found)} (${message}) instead of ${JSON.stringify(expected)}`];
  });
  if (claimed !== size || lost > 0 || rows.length !== size)
    faults.push(`${claimed} of ${size} were run, ${lost} were lost, there are ${rows.length} jobs`);
  return faults;
}

describe('robustness: generated connector results', () => {
  it(`robustness: ${fuzz.count} generated results, one in ${healthyEvery} healthy, end as expected`, {
    timeout: timeoutMs(fuzz),
  }, async () => {
    await inRounds(fuzz, (_chance, size, seed) => runRound(size, seed));
    expect(Object.keys(Object.prototype)).toEqual([]);
    await stillSyncs(database);
  });
});
