import { beforeEach, describe, expect, it } from 'vitest';
import { handlesOn, newKey } from '../credentials/handles.ts';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { runCli, runCliProcess } from '../support/process.ts';

const database = useDatabase();
const { sql } = database;
const { run, runProcess } = useCli(database);
const keys = [newKey()];
beforeEach(() => database.empty());

interface CredentialJson {
  id: string;
  kind: string;
  generation: number;
  connections: number;
}

const env = (more: NodeJS.ProcessEnv = {}) => ({
  SYNCLINE_DATABASE_URL: database.url,
  SYNCLINE_CREDENTIALS_KEYS: keys.join(),
  ...more,
});
const withKeys = (args: string[], more: NodeJS.ProcessEnv = {}, input?: string) =>
  runCli(args, { env: env(more), ...(input !== undefined && { input }) });

async function json<T = CredentialJson>(
  args: string[],
  more: NodeJS.ProcessEnv = {},
  input?: string,
): Promise<T> {
  const { code, stdout, stderr } = await withKeys([...args, '--json'], more, input);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

const add = ['credentials', 'add', '--tenant', tenant, '--provider', 'github'];

describe('syncline credentials', () => {
  it('credentials: keygen prints a new valid key each time', async () => {
    const [first, second] = [await runProcess('credentials', 'keygen'), await run('credentials', 'keygen')];
    expect(first.stdout).toMatch(/^k[\da-f]{8}:[\w+/]{43}=\n$/);
    expect(first.stdout).not.toBe(second.stdout);
    const key = first.stdout.trim();
    const shown = await runCli(['config', '--json'], { env: { SYNCLINE_CREDENTIALS_KEYS: key } });
    const lines = await runCli(['config'], { env: { SYNCLINE_CREDENTIALS_KEYS: key } });
    expect(shown.stdout).toContain(`${key.split(':')[0]}:***`);
    expect(shown.stdout + lines.stdout + shown.stderr).not.toContain(key.split(':')[1]);
  });

  it('credentials: add reads secrets of each kind from stdin or a variable, and no output contains one', async () => {
    const added = await runCliProcess([...add, '--json'], { env: env(), input: 'hush-key\n' });
    expect(added).toMatchObject({ code: 0, stderr: '' });
    const made = JSON.parse(added.stdout) as CredentialJson;
    expect(made).toMatchObject({ kind: 'api_key', generation: 1, connections: 0 });
    const kinds: [string, string, object][] = [
      ['basic', 'user:hush:word', { username: 'user', password: 'hush:word' }],
      ['oauth2', 'hush-token', { accessToken: 'hush-token' }],
      [
        'oauth2',
        '{"access_token":"hush-json","expires_at":"2030-01-01T00:00:00Z"}',
        { accessToken: 'hush-json' },
      ],
      ['custom', '{"a":"hush-custom"}', { fields: { a: 'hush-custom' } }],
    ];
    const handle = handlesOn(database, { keys });
    expect(await handle(made.id).get()).toMatchObject({ key: 'hush-key' });
    for (const [kind, HUSH, expected] of kinds) {
      const { id } = await json([...add, '--kind', kind, '--from-env', 'HUSH'], { HUSH });
      expect(await handle(id).get()).toMatchObject({ type: kind, ...expected });
    }
    const { stdout } = await withKeys(['credentials', 'list']);
    expect(stdout.trim().split('\n')).toHaveLength(6);
    const shown = await withKeys(['credentials', 'show', made.id]);
    expect(shown.stdout).toMatch(/^state +valid$/m);
    expect(stdout + shown.stdout + JSON.stringify(made)).not.toContain('hush');
  });

  it('credentials: rejects invalid input in one line without echoing the secret', async () => {
    expectFailure(
      await runCli(add, { env: env({ SYNCLINE_CREDENTIALS_KEYS: '' }), input: 'hush' }),
      /syncline credentials keygen/,
    );
    for (const [args, input, reason] of [
      [add, '', /The secret must be text .*, got nothing/],
      [[...add, '--from-env', 'NOT_SET'], undefined, /--from-env must be .*, got "NOT_SET"/],
      [[...add, '--kind', 'basic'], 'hush', /user:password/],
      [[...add, '--kind', 'custom'], 'hush', /must be a JSON object/],
      [[...add, '--kind', 'oauth2'], '{"token":"hush"}', /secret.accessToken must be text, got nothing/],
      [[...add, '--kind', 'magic'], 'hush', /--kind must be .*, got "magic"/],
    ] as [string[], string | undefined, RegExp][]) {
      const failed = await withKeys(args, {}, input);
      expectFailure(failed, reason);
      expect(failed.stderr).not.toContain('hush');
    }
  });

  it('credentials: add --tenant-name creates the tenant with the credential, or neither', async () => {
    const named = ['credentials', 'add', '--tenant-name', 'Umbra', '--provider'];
    const made = await json<CredentialJson & { tenant_id: string }>([...named, 'github'], {}, 'hush');
    expect(await sql('SELECT name FROM tenants WHERE id = $1', [made.tenant_id])).toEqual([
      { name: 'Umbra' },
    ]);
    const refused = await withKeys([...named, 'unknown'], {}, 'hush');
    expectFailure(refused, /There is no provider "unknown"\. Add a connector for it .*$/);
    expect(await sql(`SELECT id FROM tenants WHERE name = 'Umbra'`)).toEqual([{ id: made.tenant_id }]);
    expectFailure(
      await withKeys(['credentials', 'add', '--provider', 'github'], {}, 'hush'),
      /Either --tenant or --tenant-name is required/,
    );
  });

  it('credentials: connections credential assigns or removes a credential and reactivates a connection', async () => {
    const { id } = await json(add, {}, 'hush');
    const connection = await database.connect({ status: 'needs_auth' });
    const assigned = await withKeys(['connections', 'credential', connection, id, '--reason', 'found it']);
    expect(assigned.stdout).toMatch(new RegExp(`^Connection ${connection} now uses credential ${id}\\. `));
    expect(await sql('SELECT status, credential_id FROM connections')).toEqual([
      { status: 'active', credential_id: id },
    ]);
    expect(
      await json<{ credential_id: null }>(['connections', 'credential', connection, '--remove']),
    ).toMatchObject({ credential_id: null });
    expect(
      await sql(`SELECT reason FROM events WHERE kind = 'connection.credential_changed'`),
    ).toContainEqual({
      reason: 'found it',
    });
    for (const args of [[connection], [connection, id, '--remove']])
      expectFailure(
        await withKeys(['connections', 'credential', ...args]),
        /Exactly one of \[credential\] and --remove is required\. Pass a credential ID/,
      );
    expectFailure(
      await withKeys(['connections', 'credential', connection, 'mine']),
      /\[credential\] must be a UUID, got "mine"/,
    );
  });

  it('credentials: replace, delete and connections add --credential change the credential', async () => {
    const { id } = await json(add, {}, 'first');
    const connection = await json<{ id: string; credential_id: string }>([
      'connections',
      'add',
      '--provider',
      'github',
      '--credential',
      id,
    ]);
    expect(connection).toMatchObject({ credential_id: id, tenant_id: tenant });
    expectFailure(
      await withKeys([
        'connections',
        'add',
        '--provider',
        'github',
        '--tenant-name',
        'Umbra',
        '--credential',
        id,
      ]),
      /--credential cannot be combined with --tenant-name: the credential selects its tenant\. Remove --tenant-name/,
    );
    expect(await json(['credentials', 'replace', id, '--reason', 'leaked'], {}, 'second')).toMatchObject({
      generation: 2,
      connections: 1,
    });
    expectFailure(await withKeys(['credentials', 'delete', id]), /cannot be deleted: a connection uses it/);
    await database.engine().connections.setCredential(connection.id, null);
    expect(await json(['credentials', 'delete', id])).toEqual({ id, deleted: true });
    expect(await sql(`SELECT reason FROM events WHERE kind = 'credential.replaced'`)).toEqual([
      { reason: 'leaked' },
    ]);
  });

  it('credentials: rotate prints counts and exits with 1 if a secret cannot be decrypted', async () => {
    await json(add, {}, 'one');
    await json(add, {}, 'two');
    const young = newKey('young');
    const rotate = (text: string) =>
      withKeys(['credentials', 'rotate', '--json'], { SYNCLINE_CREDENTIALS_KEYS: text });
    const done = await rotate(`${young},${keys[0]}`);
    expect([done.code, JSON.parse(done.stdout)]).toEqual([0, { rotated: 2, unopened: 0 }]);
    const again = await rotate(newKey('third'));
    expect([again.code, JSON.parse(again.stdout)]).toEqual([1, { rotated: 0, unopened: 2 }]);
    expect(again.stderr).toContain('2 secrets could not be decrypted');
  });
});
