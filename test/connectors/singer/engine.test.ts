import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../../support/database.ts';
import { startProcess } from '../../support/process.ts';
import { sampled, sized } from '../../support/size.ts';
import { until } from '../../support/until.ts';
import { command, fixture, isRunning, newFile, notesIn, tap } from './tap.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(async () => {
  await sql('TRUNCATE connections, sync_jobs, signals, processes, events CASCADE');
  await sql(`INSERT INTO providers (slug) VALUES ('tap') ON CONFLICT DO NOTHING`);
});

const options = { pageRecords: 5 };

async function connect(config: Record<string, unknown>): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `INSERT INTO connections (tenant_id, provider_slug, config) VALUES ($1, 'tap', $2) RETURNING id`,
    [tenant, JSON.stringify(config)],
  );
  const { id } = row as { id: string };
  await database.job(id, { provider_slug: 'tap' });
  return id;
}

const storedIds = async (id: string) =>
  (
    await sql<{ n: number }>(
      `SELECT (payload ->> 'id')::int AS n FROM signals WHERE connection_id = $1 ORDER BY 1`,
      [id],
    )
  ).map(({ n }) => n);

const stateOf = async (id: string) =>
  (
    await sql<{ cursor: unknown }>(
      `SELECT metadata #> '{sync,cursor}' AS cursor FROM connections WHERE id = $1`,
      [id],
    )
  )[0]?.cursor;

const idsUpTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

/** Makes all queued jobs due. */
const makeDue = () => sql(`UPDATE sync_jobs SET retry_after = NULL WHERE status = 'queued'`);

async function drainAll(engine = database.engine({ connectors: [tap(options)] })): Promise<void> {
  for (let round = 0; round < 10; round++) {
    await engine.drain();
    await makeDue();
    if ((await sql(`SELECT FROM sync_jobs WHERE status IN ('queued', 'running')`)).length === 0) return;
  }
  expect.fail('jobs remain after 10 rounds');
}

describe('singer: in the engine', () => {
  it('singer: the first sync stores everything, later syncs store additions', async () => {
    const id = await connect({ items: 22 });
    await drainAll();
    expect(await storedIds(id)).toEqual(idsUpTo(22));
    expect(await stateOf(id)).toEqual({ state: { items: 4 } });
    await sql(`UPDATE connections SET config = $2 WHERE id = $1`, [id, JSON.stringify({ items: 31 })]);
    await database.job(id, { provider_slug: 'tap' });
    await drainAll();
    expect(await storedIds(id)).toEqual(idsUpTo(31));
  });

  it('singer: killing the tap after any output line causes neither loss nor duplicates', async () => {
    // 23 lines: a schema, 17 records and 5 states.
    const killed = sampled(idsUpTo(23), 2).map((dieAfterLine) => ({
      items: 17,
      dieAfterLine,
      marker: newFile(),
    }));
    const connections: string[] = [];
    for (const config of killed) connections.push(await connect(config));
    await drainAll(
      database.engine({ connectors: [tap({ pageRecords: 1000 })], executor: { concurrency: 4 } }),
    );
    const found: Record<string, number[]> = {};
    for (const id of connections) found[id] = await storedIds(id);
    expect(found).toEqual(Object.fromEntries(connections.map((id) => [id, idsUpTo(17)])));
    expect(killed.map(({ marker }) => existsSync(marker))).toEqual(killed.map(() => true));
  });

  it('singer: stores thousands of records in pages, once each', async () => {
    const many = sized(10_000, 2000);
    const id = await connect({ items: many, stateEvery: 100 });
    await drainAll(database.engine({ connectors: [tap({ pageRecords: many / 4 })] }));
    expect(await storedIds(id)).toEqual(idsUpTo(many));
    expect((await sql('SELECT FROM sync_jobs')).length).toBeGreaterThan(3);
  });

  it('singer: cancelling a run ends the tap and its child', async () => {
    const notes = newFile();
    const id = await connect({ behaviour: 'fork', notes });
    const engine = database.engine({ connectors: [tap({ graceSeconds: 0.2 })] });
    await engine.start({ roles: ['executor'] });
    await until('the tap runs', () => notesIn(notes) !== undefined);
    const [job] = await sql<{ id: string }>('SELECT id FROM sync_jobs WHERE connection_id = $1', [id]);
    await engine.jobs.cancel(String(job?.id));
    const { pid, child } = notesIn(notes) ?? {};
    await until('both processes have ended', () => !isRunning(pid) && !isRunning(child));
  });

  it('singer: killing the engine ends its taps and their files; another engine continues', async () => {
    const notes = newFile();
    const id = await connect({ behaviour: 'fork', notes });
    const engine = startProcess(process.execPath, [
      fixture('engine.mjs'),
      JSON.stringify({ database: database.url, provider: 'tap', command }),
    ]);
    await until('the tap runs', () => notesIn(notes) !== undefined);
    const { pid, child, folder } = notesIn(notes) ?? {};
    engine.process.kill('SIGKILL');
    await engine.finished;
    await until('both processes have ended', () => !isRunning(pid) && !isRunning(child));
    await until('the folder is gone', () => !existsSync(String(folder)));
    await sql(`UPDATE connections SET config = $2 WHERE id = $1`, [id, JSON.stringify({ items: 12 })]);
    await sql(`UPDATE processes SET expires_at = now() - interval '1 second'`);
    const next = database.engine({ connectors: [tap(options)], executor: { leaseSeconds: 2 } });
    await next.start({ roles: ['executor'] });
    await until('all records are stored', async () => (await storedIds(id)).length === 12);
    expect(await storedIds(id)).toEqual(idsUpTo(12));
  });
});
