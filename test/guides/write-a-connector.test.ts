import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { readGuide } from '../support/guide.ts';
import { useGuide } from '../support/guide-run.ts';
import { isFullSize } from '../support/size.ts';

const database = useDatabase();
const guide = useGuide('docs/guides/write-a-connector.md', database);

// `npm test` follows the quickstart, which writes a connector too.
describe.skipIf(!isFullSize)('docs/guides/write-a-connector.md', () => {
  it('guide: every command prints the output shown in the guide', async () => {
    const steps = await guide.follow();
    expect(steps.filter((step) => step.do === 'run').length).toBeGreaterThan(8);
    const [found] = await database.sql(
      `SELECT count(*)::int AS n, count(DISTINCT dedupe_key)::int AS keys FROM signals`,
    );
    expect(found).toEqual({ n: 25, keys: 25 });
    // No row contains the token in plain text.
    const rows = await database.sql<{ text: string }>(
      `SELECT row_to_json(c)::text AS text FROM credentials c UNION ALL SELECT row_to_json(a)::text FROM attempts a UNION ALL SELECT row_to_json(e)::text FROM events e`,
    );
    expect(rows.map(({ text }) => text).join()).not.toContain('open-sesame');
    expect(await database.sql('SELECT FROM connections WHERE credential_id IS NOT NULL')).toHaveLength(1);
  }, 600_000);

  it('guide: the provider has at most 40 lines, and the recording contains no token', () => {
    const provider = readGuide(guide.text).find(
      (step) => step.do === 'write' && step.file === 'provider.mjs',
    );
    expect(provider?.do === 'write' && provider.text.trim().split('\n').length).toBeLessThanOrEqual(40);
    expect(readFileSync(join(guide.project.folder, 'tracker.jsonl'), 'utf8')).not.toContain('open-sesame');
  });
});
