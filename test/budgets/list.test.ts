import { beforeAll, describe, expect, it } from 'vitest';
import { startService } from '../http/service.ts';
import { useCli } from '../support/cli.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
const cli = useCli(database);
const other = '00000000-0000-4000-8000-000000000002';
const credentials = {
  ours: '00000000-0000-4000-8000-0000000000f1',
  theirs: '00000000-0000-4000-8000-0000000000f2',
};

const insert = (
  provider: string,
  name: string,
  owner: { tenantId: string; credentialId: string } | undefined,
  resetsAt = '2025-01-01T12:30:00Z',
) =>
  sql(
    `INSERT INTO budgets (key, tenant_id, provider_slug, credential_id, name, most, stated, period_seconds, spent, drift, leased,
       carried, opened_at, resets_at, opens_at, learned_at)
     VALUES ($1, $2, $3, $4, $5, 5000, 5000, 3600, 100, 20, 3, 7, '2025-01-01T11:30:00Z', $6, $6, '2025-01-01T11:59:00Z')`,
    [
      [provider, name, owner?.credentialId].filter(Boolean).join('/'),
      owner?.tenantId,
      provider,
      owner?.credentialId,
      name,
      resetsAt,
    ],
  );

beforeAll(async () => {
  await insert('github', 'core', { tenantId: tenant, credentialId: credentials.ours });
  await insert('github', 'core', { tenantId: other, credentialId: credentials.theirs });
  await insert('github', 'search', undefined);
  await insert('github-cloud', 'core', { tenantId: tenant, credentialId: credentials.ours });
  await insert('slack', 'over', { tenantId: tenant, credentialId: credentials.ours }, '2025-01-01T11:00:00Z');
});

const engine = () => database.engine({ ports: testPorts() });
const ours = `github/core/${credentials.ours}`;

describe('budgets: list', () => {
  it('budgets: `left` is the limit minus spent and leased tokens', async () => {
    const { items } = await engine().budgets.list({ credentialId: credentials.ours, provider: 'github' });
    expect(items).toEqual([
      {
        key: ours,
        provider: 'github',
        name: 'core',
        tenantId: tenant,
        credentialId: credentials.ours,
        limit: 5000,
        periodSeconds: 3600,
        left: 4870,
        leased: 10,
        resetsAt: new Date('2025-01-01T12:30:00Z'),
        learnedAt: new Date('2025-01-01T11:59:00Z'),
      },
    ]);
  });

  it('budgets: a budget whose window has ended is full', async () => {
    const { items } = await engine().budgets.list({ provider: 'slack' });
    expect(items).toMatchObject([{ left: 5000, leased: 0, resetsAt: undefined }]);
  });

  it('budgets: the provider filter does not match a longer name', async () => {
    const keys = async (filter: object) => (await engine().budgets.list(filter)).items.map(({ key }) => key);
    expect(await keys({ provider: 'github' })).toEqual([
      ours,
      `github/core/${credentials.theirs}`,
      'github/search',
    ]);
    expect(await keys({ provider: 'github-cloud' })).toEqual([`github-cloud/core/${credentials.ours}`]);
    expect(await keys({ credentialId: credentials.theirs })).toEqual([`github/core/${credentials.theirs}`]);
  });

  it('budgets: a tenant sees only its own budgets, no shared ones', async () => {
    const view = engine().as({ tenantId: tenant, actor: 'key:theirs' });
    const { items } = await view.budgets.list();
    expect(items.map(({ key }) => key)).toEqual([
      `github-cloud/core/${credentials.ours}`,
      ours,
      `slack/over/${credentials.ours}`,
    ]);
    expect((await view.budgets.list({ credentialId: credentials.theirs })).items).toEqual([]);
  });

  it('budgets: rejects invalid filters', async () => {
    const { budgets } = engine();
    await expect(budgets.list({ provider: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(budgets.list({ credentialId: 'x' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('budgets: the API lists budgets in pages', async () => {
    const { call } = await startService(database);
    const first = await call('/v1/budgets?provider=github&limit=1');
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      items: [
        { key: ours, tenant_id: tenant, credential_id: credentials.ours, limit: 5000, period_seconds: 3600 },
      ],
    });
    const next = await call(
      `/v1/budgets?provider=github&limit=1&cursor=${first.body['next_cursor'] as string}`,
    );
    expect(next.body).toMatchObject({ items: [{ key: `github/core/${credentials.theirs}` }] });
  });

  it('budgets: the CLI prints budgets as a table and as JSON', async () => {
    const { stdout, code } = await cli.runProcess('budgets', '--credential', credentials.ours);
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^key +limit +remaining +leased +resets +learned$/);
    expect(stdout).toMatch(new RegExp(`^${ours} +5000 per 3600 s +5000 +0 +full +`, 'm'));
    const { budgets } = await cli.json<{ budgets: { key: string }[] }>('budgets', '--provider', 'slack');
    expect(budgets).toMatchObject([
      { key: `slack/over/${credentials.ours}`, learned_at: '2025-01-01T11:59:00.000Z' },
    ]);
  });

  it('budgets: the janitor deletes a budget unused for a week', async () => {
    const ports = testPorts('2025-01-08T12:29:59Z');
    const janitor = database.engine({ ports });
    const asleep = ports.asleep();
    await janitor.start({ roles: ['janitor'] });
    await asleep;
    await janitor.stop();
    expect(await sql(`SELECT FROM budgets WHERE provider_slug = 'slack'`)).toEqual([]);
    expect(await sql('SELECT FROM budgets')).toHaveLength(4);
  });
});
