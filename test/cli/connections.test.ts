import { userInfo } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { newKey } from '../credentials/handles.ts';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());
const cli = useCli(
  database,
  `const sync = async () => ({ signals: [] });
const validate = (value) => (value.repository ? { value } : { issues: [{ message: 'is missing.', path: ['repository'] }] });
const configSchema = { '~standard': { version: 1, vendor: 'test', validate } };
export default { connectors: [{ provider: 'notion', name: 'Notion', sync }, { provider: 'picky', name: 'Picky', sync, configSchema }] };`,
);
const { run, json } = cli;

const add = (externalId?: string) =>
  database.engine().connections.create({
    tenantId: tenant,
    provider: 'github',
    ...(externalId !== undefined && { externalId }),
  });
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const nowhere = '00000000-0000-4000-8000-00000000dead';
/** Contains an escape sequence that clears the terminal. */
const hostile = 'acme\u001b[2J\nsecond line';

describe('syncline connections add', () => {
  it('connections add: creates the tenant, registers the provider of a connector and prints the connection', async () => {
    const added = await json(
      ...['connections', 'add', '--provider', 'notion', '--tenant-name', 'Northwind'],
      ...['--external-id', 'acme', '--interval', '300', '--config-json', '{"token":"s3cret"}'],
    );
    expect(added).toEqual({
      id: expect.any(String),
      tenant_id: expect.any(String),
      provider: 'notion',
      tenant_name: 'Northwind',
      provider_name: 'Notion',
      external_id: 'acme',
      credential_id: null,
      deleting_since: null,
      status: 'active',
      health: 'ok',
      failing_since: null,
      failure: null,
      interval_seconds: 300,
      base_interval_seconds: 300,
      schedule: null,
      next_start_at: null,
      next_run_at: null,
      last_ended_at: null,
      first_activated_at: isoTime,
      last_jitter_seconds: null,
      cursor: null,
      config: { token: '[hidden]' },
      invalid_metadata: [],
      created_at: isoTime,
      updated_at: isoTime,
    });
    expect(
      await sql(
        `SELECT t.name, p.display_name, c.config FROM connections c JOIN tenants t ON t.id = tenant_id JOIN providers p ON slug = provider_slug`,
      ),
    ).toEqual([{ name: 'Northwind', display_name: 'Notion', config: { token: 's3cret' } }]);
  });

  it('connections add: suggests --register for a provider without a connector and creates no tenant', async () => {
    const add = ['connections', 'add', '--provider', 'slack', '--tenant-name', 'Umbra'];
    const refused = await run(...add);
    expectFailure(refused, /There is no provider "slack"\. Pass --register to register it/);
    expect(await sql(`SELECT FROM tenants WHERE name = 'Umbra'`)).toEqual([]);
    const { code, stdout } = await run(...add, '--register');
    expect(code).toBe(0);
    expect(stdout).toMatch(/provider +slack\n/);
    expect(stdout).toMatch(/runs +every 900 s \(default\)\n/);
    expect(await sql(`SELECT FROM tenants WHERE name = 'Umbra'`)).toHaveLength(1);
  });

  it('connections add: rejects a config that does not match the configSchema before writing anything', async () => {
    const before = await sql('SELECT id FROM tenants');
    const picky = ['connections', 'add', '--provider', 'picky', '--tenant-name', 'Initech'];
    expectFailure(
      await run(...picky, '--config-json', '{"token":"s3cret"}'),
      /--config-json must be valid for connector "picky": repository: is missing\. Correct the listed fields\.$/,
    );
    expect(await sql('SELECT id FROM tenants')).toEqual(before);
    await json(...picky, '--config-json', '{"repository":"acme/app"}');
  });

  it('connections add: rejects invalid arguments before writing anything', async () => {
    const before = await sql('SELECT id FROM tenants');
    const attempt = (...args: string[]) => run('connections', 'add', ...args);
    const toNew = ['--provider', 'github', '--tenant-name', 'Initech'];
    const [none, both, unknown, interval, list, broken, cron, zone, name] = await Promise.all([
      attempt('--provider', 'github'),
      attempt(...toNew, '--tenant', tenant),
      attempt('--provider', 'github', '--tenant', nowhere),
      attempt(...toNew, '--interval', '5m'),
      attempt(...toNew, '--config-json', '["s3cret"]'),
      attempt(...toNew, '--config-json', '{"token":"s3cret"'),
      attempt(...toNew, '--cron', '0 6 * *'),
      attempt(...toNew, '--at', '06:00', '--time-zone', 'Berlin'),
      attempt(...toNew, '--external-id', ''),
    ]);
    expectFailure(none, /One of --tenant, --tenant-name and --credential is required\. Pass --tenant <id>,/);
    expectFailure(both, /'--tenant-name <name>' cannot be used with option '--tenant <id>'/);
    expectFailure(unknown, new RegExp(`There is no tenant ${nowhere}`));
    expectFailure(interval, /--interval must be a whole number from 60 to 86400, got "5m"/);
    expectFailure(list, /--config-json must be a JSON object such as.*, got JSON that is not an object/);
    expectFailure(broken, /--config-json must be a JSON object such as.*, got invalid JSON/);
    expectFailure(cron, /--cron must be a cron expression of five fields .*, got "0 6 \* \*"/);
    expectFailure(zone, /--time-zone must be .*, got "Berlin"\. Did you mean Europe\/Berlin\?$/);
    expectFailure(name, /externalId must be/);
    expect(list.stderr + broken.stderr).not.toContain('s3cret');
    expect(await sql('SELECT id FROM tenants')).toEqual(before);
    expect(await sql('SELECT FROM connections')).toEqual([]);
  });
});

describe('syncline connections schedule', () => {
  it('connections schedule: sets a cron expression, times of day, an interval and the default', async () => {
    const { id } = await add('acme');
    const change = (...options: string[]) => json('connections', 'schedule', id, ...options);
    const cron = { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' };
    expect(await change('--cron', '0 6 * * 1-5', '--time-zone', 'Europe/Berlin')).toMatchObject({
      schedule: cron,
    });
    expect(await change('--at', '18:00,06:00', '--days', 'mon,fri')).toMatchObject({
      schedule: { times_of_day: ['06:00', '18:00'], days_of_week: ['mon', 'fri'], time_zone: 'UTC' },
    });
    expect(await change('--interval', '300')).toMatchObject({ schedule: null, interval_seconds: 300 });
    expect(await change('--default')).toMatchObject({ schedule: null, interval_seconds: null });
    const shown = await run('connections', 'schedule', id, '--cron', '@daily');
    expect(shown.stdout).toContain(`Connection ${id} runs cron 0 0 * * *, UTC.`);
    const preview = await run('schedule', 'preview', id);
    expect(preview.stdout).toContain(`github ${id}: cron 0 0 * * *, UTC\n`);
  });

  it('connections add: takes a schedule', async () => {
    const added = await json(
      ...['connections', 'add', '--provider', 'notion', '--tenant-name', 'Northwind'],
      ...['--at', '06:00', '--time-zone', 'Europe/Berlin'],
    );
    expect(added).toMatchObject({ schedule: { times_of_day: ['06:00'], time_zone: 'Europe/Berlin' } });
  });

  it.each([
    [['--cron', '0 0 9 * * *'], /--cron must be .* five fields .* got "0 0 9 \* \* \*"\. Remove the field/],
    [['--at', '06:00', '--time-zone', 'Europe/Berln'], /--time-zone must be .*Did you mean Europe\/Berlin\?/],
  ])('connections add: creates no tenant if the schedule is invalid: %j', async (options, message) => {
    const before = await sql('SELECT id FROM tenants ORDER BY id');
    const added = ['connections', 'add', '--provider', 'notion', '--tenant-name', 'Northwind'];
    expectFailure(await run(...added, ...options), message);
    expect(await sql('SELECT id FROM tenants ORDER BY id')).toEqual(before);
  });

  it('connections add: suggests the provider of a connector for a misspelt one', async () => {
    expectFailure(
      await run('connections', 'add', '--provider', 'notoin', '--tenant', tenant),
      /There is no provider "notoin"\. Did you mean notion\? If not, pass --register/,
    );
  });

  it('connections schedule: rejects contradictory and invalid options', async () => {
    const { id } = await add('acme');
    const attempt = (...options: string[]) => run('connections', 'schedule', id, ...options);
    expectFailure(await attempt(), /One of --interval, --cron, --at or --default is required/);
    expectFailure(await attempt('--cron', '@daily', '--at', '06:00'), /cannot be combined/);
    expectFailure(await attempt('--interval', '300', '--default'), /--default cannot be combined/);
    expectFailure(await attempt('--cron', '@daily', '--days', 'mon'), /--days applies only to --at/);
    expectFailure(await attempt('--interval', '300', '--time-zone', 'UTC'), /--time-zone applies only to/);
    expectFailure(await attempt('--at', '06:00', '--days', 'monday'), /--days must be one of mon, tue/);
    expectFailure(
      await attempt('--at', '6'),
      /--at must be times from 00:00 to 23:59, such as 06:00, got "6"/,
    );
    expectFailure(
      await attempt('--cron', '@daily', '--time-zone', 'Berlin'),
      /--time-zone must be an IANA time zone .* got "Berlin"\. Did you mean Europe\/Berlin\?/,
    );
  });
});

describe('syncline connections list', () => {
  it('connections list: pages through all connections; the last page has no cursor', async () => {
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push((await add()).id);
    const seen: string[] = [];
    let after: string[] = [];
    for (let page = 1; page <= 2; page++) {
      const answer = await json<{ connections: { id: string }[]; next_cursor: string | null }>(
        ...['connections', 'list', '--limit', '2', ...after],
      );
      seen.push(...answer.connections.map(({ id }) => id));
      expect(answer.next_cursor === null).toBe(page === 2);
      after = ['--cursor', `${answer.next_cursor}`];
    }
    expect(seen).toEqual([...ids].sort());
  });

  it('connections list: applies filters and escapes control characters in the table', async () => {
    const { id } = await add(hostile);
    await database.connect({ status: 'paused' });
    const filters = ['--tenant', tenant, '--provider', 'github', '--status', 'active'];
    const { stdout } = await run('connections', 'list', ...filters);
    const [head, ...rows] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(head).toEqual([
      ...['id', 'tenant', 'provider', 'external id', 'status', 'runs', 'next run', 'last ended'],
    ]);
    expect(rows).toEqual([
      [id, tenant, 'github', 'acme\\u001b[2J second line', 'active', 'every 900 s', 'next tick', '-'],
    ]);
    const { connections } = await json<{ connections: unknown[] }>('connections', 'list', ...filters);
    expect(connections).toEqual([expect.objectContaining({ id, external_id: hostile })]);
  });

  it('connections list: rejects invalid filters and reports an empty list', async () => {
    const [limit, tenantId, none] = await Promise.all([
      run('connections', 'list', '--limit', '0'),
      run('connections', 'list', '--tenant', 'Northwind'),
      run('connections', 'list'),
    ]);
    expectFailure(limit, /--limit must be a whole number from 1 to 1000, got 0/);
    expectFailure(tenantId, /--tenant must be a UUID, got "Northwind"/);
    expect(none).toMatchObject({ code: 0, stdout: 'No connections found.\n' });
  });
});

describe('syncline connections pause, resume, trigger, why, show', () => {
  it('connections: pause and resume record actor and reason', async () => {
    const { id } = await add();
    expect((await run('connections', 'pause', id, '--reason', 'maintenance')).stdout).toMatch(
      new RegExp(`^Connection ${id} is paused\\. Paused by cli:${userInfo().username} .*: maintenance\\.`),
    );
    expectFailure(await run('connections', 'trigger', id), /is paused and cannot run\. Resume it first/);
    expect(await json('connections', 'resume', id, '--actor', 'ada')).toMatchObject({ id, status: 'active' });
    expect(await database.engine().connections.events(id)).toMatchObject([
      { kind: 'connection.resumed', actor: 'ada', reason: undefined },
      { kind: 'connection.paused', actor: `cli:${userInfo().username}`, reason: 'maintenance' },
      { kind: 'connection.created' },
    ]);
  });

  it('connections: trigger queues one job; a second trigger brings it forward', async () => {
    const { id } = await add();
    const first = await json('connections', 'trigger', id, '--type', 'full', '--priority', '-3');
    expect(first).toEqual({ connection_id: id, job_id: expect.any(String), effect: 'queued' });
    expect(await json('connections', 'trigger', id, '--type', 'full')).toEqual({
      ...first,
      effect: 'brought_forward',
    });
    expect(await sql('SELECT id, job_type, priority FROM sync_jobs')).toEqual([
      { id: first['job_id'], job_type: 'full', priority: 10 },
    ]);
    expect((await run('connections', 'trigger', id)).stdout).toMatch(
      /^Queued: incremental job \S+ is due now\.\n$/,
    );
  });

  it('connections: why explains why a connection is not syncing', async () => {
    const { id } = await add();
    expect(await json('connections', 'why', id)).toEqual({
      state: 'unplaced',
      sentence: expect.stringMatching(
        /^Due now\. No runs yet\. The next scheduler tick \(within 60 s\) will queue it\.$/,
      ),
      next_run_at: null,
    });
  });

  it('connections: show prints the explanation first and escapes control characters', async () => {
    const { id } = await add(hostile);
    const { connections } = database.engine();
    const { jobId } = await connections.trigger(id, { reason: hostile });
    await connections.pause(id, { actor: 'ada' });
    const [{ stdout }, shown] = await Promise.all([
      run('connections', 'show', id),
      json('connections', 'show', id),
    ]);
    const sentence = /^Paused by ada .* No new run starts until the connection is resumed\.$/;
    expect(stdout.split('\n')[0]).toMatch(sentence);
    expect(stdout).toMatch(new RegExp(`Recent jobs:\n.*\n${jobId} +incremental +queued, blocked`));
    expect(stdout).toMatch(/triggered +api +\S+ +acme\\u001b\[2J second line\n/);
    expect(stdout).not.toContain('\u001b');
    expect(shown).toMatchObject({
      connection: { id, external_id: hostile, status: 'paused' },
      why: { state: 'paused', sentence: expect.stringMatching(sentence), next_run_at: null },
      jobs: [{ id: jobId, status: 'queued', blocked: true }],
      events: [
        { kind: 'connection.paused', actor: 'ada', reason: null, job_id: null, at: isoTime },
        { kind: 'connection.triggered', actor: 'api', reason: hostile, job_id: jobId, at: isoTime },
        { kind: 'connection.created', actor: 'api' },
      ],
    });
  });

  it('connections: rejects an unknown connection and invalid options', async () => {
    const { id } = await add();
    const [missing, priority, reason] = await Promise.all([
      run('connections', 'show', nowhere),
      run('connections', 'trigger', id, '--priority', 'high'),
      run('connections', 'pause', id, '--reason', ''),
    ]);
    expectFailure(missing, new RegExp(`There is no connection ${nowhere}`));
    expectFailure(priority, /--priority must be a whole number from -32768 to 32767, got "high"/);
    expectFailure(reason, /reason must be text of 1 to 1000 characters, got ""/);
  });
});

describe('syncline connections config', () => {
  it('connections config: replaces the connector configuration', async () => {
    const { id } = await add();
    const changed = await cli.runProcess(
      ...['connections', 'config', id, '--config-json', '{"account":"b"}', '--json'],
    );
    expect(JSON.parse(changed.stdout)).toMatchObject({ id, config: { account: 'b' } });
    expectFailure(
      await run('connections', 'config', id, '--config-json', '[]'),
      /--config-json must be a JSON object.*, got JSON that is not an object/,
    );
  });
});

describe('syncline connections webhook', () => {
  it('connections webhook: prints the webhook URL, with the public address if configured, and a secret', async () => {
    const { id } = await add();
    const env = { SYNCLINE_CREDENTIALS_KEYS: newKey() };
    const made = await cli.runWith(env, 'connections', 'webhook', id);
    expect(made.stdout).toMatch(
      new RegExp(
        `^Configure .* to send deliveries to https://<public host>/v1/webhooks/github/${id} \\(set server\\.publicUrl`,
        'm',
      ),
    );
    expect(made.stdout).toMatch(/^Signing secret: \S{20,}$/m);
    const publicUrl = { ...env, SYNCLINE_SERVER_PUBLIC_URL: 'https://sync.example.com/' };
    expect((await cli.runWith(publicUrl, 'connections', 'webhook', id)).stdout).toContain(
      `Configure the provider to send deliveries to https://sync.example.com/v1/webhooks/github/${id}.\n`,
    );
  });

  it('connections webhook: prints no new secret for an existing webhook without --rotate', async () => {
    const { id } = await add();
    const env = { SYNCLINE_CREDENTIALS_KEYS: newKey() };
    const webhook = (...args: string[]) => cli.runWith(env, 'connections', 'webhook', id, ...args);
    const secretIn = ({ stdout }: { stdout: string }) => /^Signing secret: (\S+)$/m.exec(stdout)?.[1];
    const first = secretIn(await webhook());
    const again = await webhook();
    expect([secretIn(again), again.stdout]).toEqual([
      undefined,
      expect.stringContaining('No deliveries yet'),
    ]);
    expect(secretIn(await webhook('--rotate'))).not.toBe(first);
    expectFailure(
      await webhook('--rotate', '--delete'),
      /Pass only one of --secret-from-env, --rotate and --delete/,
    );
  });
});
