import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { blocksOf, pages } from '../support/markdown.ts';

const database = useDatabase();
const [page] = pages().filter(({ path }) => path === 'docs/guides/adopt-tables.md');
if (!page) throw new Error('The guide is missing.');
const blocks = blocksOf(page).filter(({ language }) => language === 'sql');

/** Runs the block with this word. */
async function run(name: string): Promise<void> {
  const block = blocks.find(({ words }) => words === name);
  await database.sql(block?.text ?? '');
}

describe('docs/guides/adopt-tables.md', () => {
  it('guide: imported connections keep their ids, intervals and cursors, and run after the switch', async () => {
    expect(blocks.map(({ words }) => words)).toEqual(['existing', 'import', 'switch', 'queue']);
    await run('existing');
    await database.sql(
      `INSERT INTO public.integrations
       SELECT gen_random_uuid(), gen_random_uuid(), 'Northwind', 'github', '{"repositories": ["acme/app"]}', 15,
         CASE WHEN n < 3 THEN timestamptz '2026-01-01 00:00:00Z' END, n < 4 FROM generate_series(1, 4) n`,
    );
    await run('import');
    await run('import');
    expect(
      await database.sql(
        `SELECT status, metadata #>> '{sync,interval_seconds}' AS interval, metadata #>> '{sync,cursor,since}' AS since,
           due_at BETWEEN now() AND now() + interval '15 minutes' AS soon
         FROM connections JOIN public.integrations USING (id) ORDER BY since`,
      ),
    ).toEqual([
      { status: 'paused', interval: '900', since: '2026-01-01T00:00:00.000Z', soon: true },
      { status: 'paused', interval: '900', since: '2026-01-01T00:00:00.000Z', soon: true },
      { status: 'paused', interval: '900', since: null, soon: true },
    ]);
    await run('switch');
    await run('queue');
    expect(await database.sql(`SELECT status, count(*)::int AS n FROM sync_jobs GROUP BY 1`)).toEqual([
      { status: 'queued', n: 2 },
    ]);
  });
});
