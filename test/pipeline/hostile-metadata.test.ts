import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { lockDue } from '../../src/store/connections.ts';
import { tablesOf } from '../../src/store/scope.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { filledLookup } from '../support/filled-lookup.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const long = 'x'.repeat(1_000_000);
const past = '2025-01-01T00:00:00Z';

/** Metadata of other writers, and whether it causes a warning. */
const hostile: [name: string, metadata: unknown, warned: boolean][] = [
  ['null', null, false],
  ['a number', 42, true],
  ['a string', 'sync', true],
  ['a boolean', true, true],
  ['an array', [{ sync: {} }], true],
  ['an empty array', [], true],
  ['no sync', { other: 1 }, false],
  ['sync null', { sync: null }, false],
  ['sync a number', { sync: 42 }, true],
  ['sync a string', { sync: '{"interval_seconds":300}' }, true],
  ['sync a boolean', { sync: false }, true],
  ['sync an array', { sync: [1, 2, 3] }, true],
  ['interval null', { sync: { interval_seconds: null } }, false],
  ['interval a string', { sync: { interval_seconds: '300' } }, true],
  ['interval an empty string', { sync: { interval_seconds: '' } }, true],
  ['interval zero', { sync: { interval_seconds: 0 } }, true],
  ['interval negative', { sync: { interval_seconds: -900 } }, true],
  ['interval below the minimum', { sync: { interval_seconds: 59 } }, true],
  ['interval above the maximum', { sync: { interval_seconds: 86_401 } }, true],
  ['interval with a fraction', { sync: { interval_seconds: 300.5 } }, true],
  ['interval beyond a double', '{"sync":{"interval_seconds":1e400}}', true],
  ['interval beyond a whole number', '{"sync":{"interval_seconds":9007199254740993}}', true],
  ['interval true', { sync: { interval_seconds: true } }, true],
  ['interval an object', { sync: { interval_seconds: { seconds: 300 } } }, true],
  ['interval an array', { sync: { interval_seconds: [300] } }, true],
  ['interval a megabyte', { sync: { interval_seconds: long } }, true],
  ['interval with an SQL injection', { sync: { interval_seconds: `300'); DROP TABLE sync_jobs; --` } }, true],
  ['next_run_at null', { sync: { next_run_at: null } }, false],
  ['next_run_at a number', { sync: { next_run_at: 1_735_689_600 } }, true],
  ['next_run_at empty', { sync: { next_run_at: '' } }, true],
  ['next_run_at a word', { sync: { next_run_at: 'tomorrow' } }, true],
  ['next_run_at infinite', { sync: { next_run_at: 'infinity' } }, true],
  ['next_run_at without offset', { sync: { next_run_at: '2025-01-01T00:00:00' } }, true],
  ['next_run_at a date', { sync: { next_run_at: '2025-01-01' } }, true],
  ['next_run_at on February 30th', { sync: { next_run_at: '2025-02-30T00:00:00Z' } }, true],
  ['next_run_at in month 13', { sync: { next_run_at: '2025-13-01T00:00:00Z' } }, true],
  ['next_run_at at 25 o’clock', { sync: { next_run_at: '2025-01-01T25:00:00Z' } }, true],
  ['next_run_at in year 10000', { sync: { next_run_at: '+010000-01-01T00:00:00Z' } }, true],
  ['next_run_at in another offset', { sync: { next_run_at: '2025-01-01T02:00:00+02:00' } }, false],
  ['next_run_at an object', { sync: { next_run_at: { $date: past } } }, true],
  ['next_run_at a megabyte', { sync: { next_run_at: long } }, true],
  ['next_run_at with HTML', { sync: { next_run_at: '<script>alert(1)</script>' } }, true],
  ['first_activated_at garbage', { sync: { first_activated_at: 'long ago' } }, true],
  ['first_activated_at a number', { sync: { first_activated_at: 0 } }, true],
  [
    'first_activated_at before the common era',
    { sync: { first_activated_at: '-004712-01-01T00:00:00Z' } },
    true,
  ],
  ['first_activated_at at the end of time', { sync: { first_activated_at: '9999-12-31T23:59:59Z' } }, false],
  ['last_jitter_seconds negative', { sync: { last_jitter_seconds: -1 } }, true],
  ['last_jitter_seconds a string', { sync: { last_jitter_seconds: '12' } }, true],
  ['cursor a number', { sync: { cursor: 42 } }, false],
  [
    'cursor deep',
    { sync: { cursor: Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], 1) } },
    false,
  ],
  [
    'every field invalid',
    { sync: { interval_seconds: [], next_run_at: {}, first_activated_at: 1, last_jitter_seconds: 'a' } },
    true,
  ],
  [
    'keys of the prototype',
    '{"__proto__":{"sync":1},"constructor":2,"sync":{"__proto__":{"interval_seconds":1}}}',
    false,
  ],
];

const insert = (metadata: unknown) =>
  sql<{ id: string }>(
    `INSERT INTO connections (tenant_id, provider_slug, metadata) VALUES ($1, 'github', $2) RETURNING id`,
    [
      tenant,
      typeof metadata === 'string' && metadata.startsWith('{')
        ? metadata
        : metadata === null
          ? null
          : JSON.stringify(metadata),
    ],
  ).then((rows) => rows[0]?.id as string);

describe('DB-3: invalid metadata of other writers', () => {
  it(`DB-3: a tick places connections with ${hostile.length} kinds of metadata`, async () => {
    const ids = new Map<string, string>();
    for (const [name, metadata] of hostile) {
      ids.set(await insert(metadata), name);
      await insert({ sync: { interval_seconds: 300 } });
    }
    const { log, lines } = recordingLogger();
    const result = await database.engine({ logger: log }).tick();
    expect(result.scheduled).toBe(2 * hostile.length);

    const warnings = lines
      .filter((line) => line.level === 'warn')
      .map((line) => ids.get(line['connection_id'] as string));
    expect(warnings.sort()).toEqual(
      hostile
        .filter(([, , warned]) => warned)
        .map(([name]) => name)
        .sort(),
    );
    expect(result.invalidMetadata).toBe(warnings.length);
    expect(Math.max(...lines.map((line) => JSON.stringify(line).length))).toBeLessThan(3000);
  });

  it('DB-3: warns once: the tick corrects the metadata', async () => {
    for (const [, metadata] of hostile) await insert(metadata);
    await database.engine().tick();
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = now()`);
    const { log, lines } = recordingLogger();
    const result = await database
      .engine({ logger: log })
      .tick({ at: new Date(Date.now() + 3 * 24 * 3600 * 1000) });
    expect(result).toMatchObject({ scheduled: hostile.length, invalidMetadata: 0 });
    expect(lines.filter((line) => line.level === 'warn')).toEqual([]);
  });

  it('DB-3: replaces an invalid field by the used value and keeps keys of other writers', async () => {
    const id = await insert({
      mine: 1,
      sync: { interval_seconds: 'fast', first_activated_at: 'long ago', theirs: 'x', cursor: 7 },
    });
    await database.engine().tick();
    const [row] = await sql<{ metadata: { sync: object }; created_at: Date }>(
      'SELECT metadata, created_at FROM connections WHERE id = $1',
      [id],
    );
    expect(row?.metadata).toMatchObject({
      mine: 1,
      sync: {
        interval_seconds: 900,
        first_activated_at: row?.created_at.toISOString(),
        theirs: 'x',
        cursor: 7,
      },
    });
  });

  it('DB-3: the scheduler reads at most 1,000 bytes per connection, even of a 1 MB field', async () => {
    for (const [, metadata] of hostile) await insert(metadata);
    const query = (text: string, values?: unknown[]) => sql(text, values) as Promise<never[]>;
    const tables = tablesOf('syncline');
    const rows = await lockDue(
      { schema: 'syncline', tables, lookup: filledLookup(tables), query },
      { now: new Date(), horizon: new Date(), limit: 1000 },
    );
    expect(rows).toHaveLength(hostile.length);
    expect(Math.max(...rows.map((row) => JSON.stringify(row).length))).toBeLessThan(1000);
  });

  it('DB-3: generated metadata never stops a tick', async () => {
    const field = fc.oneof(fc.jsonValue(), fc.constantFrom(past, 'infinity', 300, '300', -1, 1e308));
    const document = fc.oneof(
      fc.jsonValue(),
      fc.record({ sync: fc.jsonValue() }),
      fc.record({
        sync: fc.record(
          {
            interval_seconds: field,
            next_run_at: field,
            first_activated_at: field,
            last_jitter_seconds: field,
            cursor: field,
          },
          { requiredKeys: [] },
        ),
      }),
    );
    const documents = fc.sample(document, { numRuns: 3000, seed: 2025 }).map((value) =>
      JSON.stringify(value)
        .replaceAll('\\u0000', '')
        .replaceAll(/\\ud[89a-f]../gi, ''),
    );
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, metadata)
       SELECT $1, 'github', d::jsonb FROM unnest($2::text[]) AS d`,
      [tenant, documents],
    );
    const valid = await insert({ sync: { interval_seconds: 300 } });
    const result = await database
      .engine({ scheduler: { batchSize: 500 } })
      .tick({ at: new Date('2026-06-01T00:00:00Z') });
    expect(result.scheduled).toBe(documents.length + 1);
    expect(await sql('SELECT FROM sync_jobs WHERE connection_id = $1', [valid])).toHaveLength(1);
  });

  it('DB-3: timestamps outside the range of JavaScript do not stop a tick', async () => {
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, metadata, created_at)
       SELECT $1, 'github', '{"sync": {"first_activated_at": "long ago"}}', t::timestamptz
       FROM unnest(ARRAY['infinity', '-infinity', '4713-01-01 00:00:00+00 BC', '294276-01-01 00:00:00+00']) AS t`,
      [tenant],
    );
    expect(await database.engine().tick()).toMatchObject({ scheduled: 4 });
  });
});
