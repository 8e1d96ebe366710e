import { beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { addConnections, complete, countOf, outcomes, pending, startWorker } from '../support/worker.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const executor = { leaseSeconds: 2, shutdownGraceSeconds: 0 };
/** The shortest backoff. */
const rateLimit = { baseSeconds: 1, maxSeconds: 1, jitterFactor: 0 };
const options = { executor, rateLimit };

const ended = `sync_jobs WHERE status IN ('succeeded', 'failed')`;

const lossesOf = async (name: string) => {
  const [row] = await sql<{ losses: number | null }>(
    'SELECT jsonb_array_length(losses) AS losses FROM connections WHERE external_id = $1',
    [name],
  );
  return row?.losses ?? 0;
};

describe('EXE-9: a connector that kills its process', () => {
  it('EXE-9: its job fails after exactly five deaths, and all other jobs succeed', async () => {
    const innocent = Array.from({ length: 3 }, (_, i) => `innocent-${i}`);
    await addConnections(sql, [...innocent, 'poison']);
    const providers = [...innocent, 'poison'];
    const signals: (NodeJS.Signals | null)[] = [];
    let isDone = false;
    // A supervisor that restarts the worker when it exits.
    const supervised = (async () => {
      while (!isDone) {
        const worker = startWorker({
          ...options,
          database: database.url,
          providers,
          kills: ['poison'],
          syncMs: 20,
        });
        const stop = setInterval(() => isDone && worker.process.kill('SIGTERM'), 100);
        signals.push((await worker.finished).signal);
        clearInterval(stop);
      }
    })();
    const isOver = async () => (await countOf(sql, pending)) === 0;
    const progress = async () => (await lossesOf('poison')) + (await countOf(sql, ended));
    try {
      // Starting six processes in turn takes minutes on a busy machine; an engine that stalls makes no progress.
      while (!(await isOver())) {
        const before = await progress();
        await until(
          'a death is counted or a job ends',
          async () => (await progress()) !== before || (await isOver()),
        );
      }
    } finally {
      isDone = true;
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
  }, 600_000);

  it('EXE-9: a graceful stop counts no death', async () => {
    await addConnections(sql, ['slow']);
    const worker = startWorker({ ...options, database: database.url, providers: ['slow'], hangs: ['slow'] });
    await until('it runs', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 1);
    worker.process.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
    expect(await countOf(sql, `sync_jobs WHERE status = 'queued' AND attempts = 0`)).toBe(1);
    expect(await lossesOf('slow')).toBe(0);
  });

  it('EXE-9: a frozen process that resumes removes the death counted for it', async () => {
    await addConnections(sql, ['slow']);
    const frozen = startWorker({ ...options, database: database.url, providers: ['slow'], hangs: ['slow'] });
    await until('it runs', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 1);
    frozen.process.kill('SIGSTOP');
    // Without a connector for the job, this engine only reaps the expired lease.
    await database.engine({ executor }).start({ roles: ['executor'] });
    await until('the death is counted', async () => (await lossesOf('slow')) === 1);
    frozen.process.kill('SIGCONT');
    await until('the death is removed', async () => (await lossesOf('slow')) === 0);
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
