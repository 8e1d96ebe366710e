import { beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { addConnections, complete, countOf, outcomes, pending, startWorker } from '../support/worker.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const executor = { leaseSeconds: 2, shutdownGraceSeconds: 0 };
/** As short as pauses can be. */
const rateLimit = { baseSeconds: 1, maxSeconds: 1, jitterFactor: 0 };
const options = { executor, rateLimit };

const lossesOf = async (name: string) => {
  const [row] = await sql<{ losses: number | null }>(
    'SELECT jsonb_array_length(losses) AS losses FROM connections WHERE external_id = $1',
    [name],
  );
  return row?.losses ?? 0;
};

describe('EXE-9: a connector that kills its process', () => {
  it('EXE-9: fails after exactly five deaths and says why; every job beside it ends', async () => {
    const innocent = Array.from({ length: 8 }, (_, i) => `innocent-${i}`);
    await addConnections(sql, [...innocent, 'poison']);
    const providers = [...innocent, 'poison'];
    const signals: (NodeJS.Signals | null)[] = [];
    let isOver = false;
    // A supervisor: whenever the worker is gone, the next one starts.
    const supervised = (async () => {
      while (!isOver) {
        const worker = startWorker({
          ...options,
          database: database.url,
          providers,
          kills: ['poison'],
          syncMs: 20,
        });
        const stop = setInterval(() => isOver && worker.process.kill('SIGTERM'), 100);
        signals.push((await worker.finished).signal);
        clearInterval(stop);
      }
    })();
    try {
      await until('nothing is pending', async () => (await countOf(sql, pending)) === 0, 120_000);
    } finally {
      isOver = true;
      await supervised;
    }
    expect(signals.filter((signal) => signal === 'SIGKILL')).toHaveLength(5);
    const { poison, ...others } = await outcomes(sql);
    expect(poison).toMatchObject({ jobs: ['failed'], items: [] });
    expect(others).toEqual(Object.fromEntries(innocent.map((name) => [name, complete])));
    const [failed] = await sql(
      `SELECT error ->> 'kind' AS kind, error ->> 'message' AS message, jsonb_array_length(error -> 'deaths') AS deaths
       FROM sync_jobs WHERE provider_slug = 'poison'`,
    );
    expect(failed).toEqual({
      kind: 'process_died',
      message: expect.stringContaining('died 5 times in a row'),
      deaths: 5,
    });
    expect(
      await sql(`SELECT provider_slug, failure FROM connections WHERE failing_since IS NOT NULL`),
    ).toEqual([{ provider_slug: 'poison', failure: 'process_died' }]);
  });

  it('EXE-9: a process that is stopped gracefully counts no death', async () => {
    await addConnections(sql, ['slow']);
    const worker = startWorker({ ...options, database: database.url, providers: ['slow'], hangs: ['slow'] });
    await until('it runs', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 1);
    worker.process.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
    expect(await countOf(sql, `sync_jobs WHERE status = 'queued' AND attempts = 0`)).toBe(1);
    expect(await lossesOf('slow')).toBe(0);
  });

  it('EXE-9: a process that was frozen and wakes up takes back the death that was counted', async () => {
    await addConnections(sql, ['slow']);
    const frozen = startWorker({ ...options, database: database.url, providers: ['slow'], hangs: ['slow'] });
    await until('it runs', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 1);
    frozen.process.kill('SIGSTOP');
    // It has no connector for the job, so it only finds the expired lease.
    await database.engine({ executor }).start({ roles: ['executor'] });
    await until('the death is counted', async () => (await lossesOf('slow')) === 1);
    frozen.process.kill('SIGCONT');
    await until('it is taken back', async () => (await lossesOf('slow')) === 0);
    await until(
      'it runs again',
      async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 1,
    );
    frozen.process.kill('SIGTERM');
    expect((await frozen.finished).code).toBe(0);
    expect(await lossesOf('slow')).toBe(0);
    expect(await countOf(sql, `sync_jobs WHERE status = 'queued' AND attempts = 0`)).toBe(1);
  });
});
