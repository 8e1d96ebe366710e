import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { canary, leaksIn, type Output } from './canary.ts';
import { crash, runService } from './canary-service.ts';
import { type CanaryWorld, makeCanaryWorld, misconfigure, tapReport } from './canary-world.ts';

const database = useDatabase();
let world: CanaryWorld;

beforeAll(async () => {
  world = await makeCanaryWorld(database);
  await misconfigure(world);
  await runService(world, database);
  await crash(world);
});
afterAll(() => world?.end());

const storesUnchanged: Record<string, string[]> = {
  connections: ['config'],
  signals: ['payload', 'dedupe_key'],
};

/** Every row of every table, as text; bytes in hexadecimal. */
async function storedRows(without: Record<string, string[]>): Promise<Output[]> {
  const tables = await database.sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'syncline'::regnamespace AND relkind = 'r'`,
  );
  const all = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await database.sql<{ row: string }>(
        `SELECT (to_jsonb(t) - $1::text[])::text AS row FROM syncline.${name} t`,
        [without[name] ?? []],
      );
      return rows.map(({ row }) => ({ from: `table ${name}`, text: row }));
    }),
  );
  return all.flat();
}

describe('canaries: planted secrets occur only where documented', () => {
  it('canaries: the search finds a secret in any text, whole or cut, plain or encoded', () => {
    const { secret, traces, name } = canary('control');
    const forms = [
      secret,
      JSON.stringify({ a: { b: JSON.stringify(secret) } }),
      `https://x/?a=${encodeURIComponent(secret)}`,
      new URLSearchParams({ a: secret }).toString(),
      Buffer.from(secret).toString('hex').toUpperCase(),
      ...['', 'a', 'ab'].flatMap((before) =>
        (['base64', 'base64url'] as const).map((encoding) =>
          Buffer.from(`${before}${secret}`).toString(encoding),
        ),
      ),
      `cut ${secret.slice(0, 14)}…`,
    ];
    for (const text of forms)
      expect([text, leaksIn([{ from: 'x', text }], [{ name, secret, traces }]).length > 0]).toEqual([
        text,
        true,
      ]);
    expect(leaksIn([{ from: 'x', text: 'cnry and nothing else' }], [{ name, secret, traces }])).toEqual([]);
  });

  it('canaries: the planted secrets were used', async () => {
    const { canaries, shownOnce, provider } = world;
    const found = (outputs: Output[]) => new Set(leaksIn(outputs, canaries).map((leak) => leak.canary));
    expect(canaries.length).toBeGreaterThan(50);
    expect(found(shownOnce)).toEqual(
      new Set(['an API key', 'a session cookie', 'a webhook secret of a connection']),
    );
    const received = found([{ from: 'the provider', text: provider.requests.join('\n') }]);
    for (const name of ['an API key of a provider', 'an OAuth client secret', 'a refresh token, rejected'])
      expect(received).toContain(name);
    // The search finds secrets in columns that may contain them, so it would also find them elsewhere.
    const stored = found(await storedRows({}));
    expect(stored).toEqual(
      new Set(['a secret in a config', 'a nested secret in a config', 'a token in a signal']),
    );
  });

  it('canaries: no response, log, page, metric, error or child process contains a secret', () => {
    const outputs = [...world.outputs, tapReport(world)];
    expect(outputs.length).toBeGreaterThan(200);
    for (const { from, text } of outputs.filter(({ from }) => /log of the service|metrics|child/.test(from)))
      expect([from, text.length > 200]).toEqual([from, true]);
    expect(leaksIn(outputs, world.canaries)).toEqual([]);
  });

  it('canaries: no column contains a secret in plain text', async () => {
    const rows = await storedRows(storesUnchanged);
    for (const table of [
      'sync_jobs',
      'attempts',
      'events',
      'credentials',
      'webhooks',
      'sessions',
      'api_keys',
    ])
      expect(rows.some(({ from }) => from === `table ${table}`)).toBe(true);
    expect(leaksIn(rows, world.canaries)).toEqual([]);
  });
});
