import { userInfo } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
const { run, runProcess, json } = useCli(database);
beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE api_keys, sessions');
});

const actor = `cli:${userInfo().username}`;
const nowhere = '00000000-0000-4000-8000-00000000dead';
interface Key {
  id: string;
  key: string;
  prefix: string;
}

describe('syncline keys', () => {
  it('keys: create prints a valid key once, on its own line', async () => {
    const { code, stdout, stderr } = await runProcess('keys', 'create', '--operator', '--name', 'on call');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [key, remark] = stdout.trim().split('\n');
    expect(key).toMatch(/^syn_[\w-]{43}$/);
    expect(remark).toMatch(/not shown again/);
    expect(await database.engine().access.authenticate(key as string)).toMatchObject({
      tenantId: undefined,
      actor: 'key:on call',
    });
    const { stdout: listed } = await run('keys', 'list');
    expect(listed).toContain(`${key?.slice(0, 10)}…`);
    expect(listed).not.toContain(key);
  });

  it('keys: create --json prints the key, its fields and its creator', async () => {
    const made = await json<Key>('keys', 'create', '--tenant', tenant, '--name', 'their backend');
    expect(made).toEqual({
      id: expect.any(String),
      name: 'their backend',
      prefix: made.key.slice(0, 10),
      key: expect.stringMatching(/^syn_/),
      scope: 'tenant',
      tenant_id: tenant,
      created_at: expect.stringMatching(/Z$/),
      created_by: actor,
      parent_id: null,
      last_used_at: null,
      revoked_at: null,
    });
    expect(await database.engine().access.authenticate(made.key)).toMatchObject({ tenantId: tenant });
    expect(await sql('SELECT kind, actor FROM events')).toEqual([{ kind: 'key.created', actor }]);
  });

  it('keys: create requires a name and either an existing tenant or --operator', async () => {
    const attempt = (...args: string[]) => run('keys', 'create', ...args);
    const [neither, both, bad, unknown, unnamed, empty] = await Promise.all([
      attempt('--name', 'a'),
      attempt('--name', 'a', '--operator', '--tenant', tenant),
      attempt('--name', 'a', '--tenant', 'b'),
      attempt('--name', 'a', '--tenant', nowhere),
      attempt('--operator'),
      attempt('--operator', '--name', ' '),
    ]);
    const either = /Exactly one of --tenant and --operator is required\. Pass --tenant <id> or --operator\./;
    expectFailure(neither, either);
    expectFailure(both, either);
    expectFailure(bad, /--tenant must be a UUID, got "b"/);
    expectFailure(unknown, /There is no tenant/);
    expectFailure(unnamed, /required option '--name <text>'/);
    expectFailure(empty, /name must be .*, got " "/);
    expect(await sql('SELECT FROM api_keys')).toHaveLength(0);
  });

  it('keys: list prints keys newest first, with scope and status', async () => {
    expect((await run('keys', 'list')).stdout).toBe('No keys found.\n');
    const { keys } = database.engine();
    const old = await keys.create({ name: 'old' });
    await keys.revoke(old.id);
    await keys.create({ name: 'new', tenantId: tenant });
    const [head, ...rows] = (await run('keys', 'list')).stdout.trimEnd().split('\n');
    expect(head).toMatch(/^id +prefix +scope +created +last used +status +name$/i);
    expect(rows).toEqual([
      expect.stringMatching(new RegExp(`syn_.*… +${tenant} .* active +new$`)),
      expect.stringMatching(/syn_.*… +operator .* revoked .* ago +old$/),
    ]);
    const listed = await json<{ keys: Key[] }>('keys', 'list', '--limit', '1');
    expect(listed.keys).toEqual([expect.objectContaining({ name: 'new', scope: 'tenant' })]);
    expect(JSON.stringify(listed)).not.toContain('"key"');
  });

  it('keys: revoke invalidates a key and rejects unknown IDs', async () => {
    const { keys, access } = database.engine();
    const { id, key } = await keys.create({ name: 'old' });
    const { code, stdout } = await run('keys', 'revoke', id);
    expect([code, stdout]).toEqual([0, `Key ${id} is revoked.\n`]);
    expect(await access.authenticate(key)).toBeUndefined();
    expect(await sql(`SELECT actor FROM events WHERE kind = 'key.revoked'`)).toEqual([{ actor }]);
    expect(await json('keys', 'revoke', id)).toEqual({
      id,
      revoked: true,
      revoked_keys: 0,
      valid_descendants: 0,
    });
    expectFailure(await run('keys', 'revoke', nowhere), /There is no key/);
    expectFailure(await run('keys', 'revoke', 'x'), /key must be a UUID, got "x"/);
  });

  it('audit: `keys revoke --descendants` revokes created keys; `audit list` shows the key', async () => {
    const engine = database.engine();
    const root = await engine.keys.create({ name: 'root' });
    const identity = await engine.access.authenticate(root.key);
    if (!identity) throw new Error('the key was refused');
    const child = await engine.as(identity).keys.create({ name: 'child' });
    const { stdout: alone } = await run('keys', 'revoke', root.id);
    expect(alone).toBe(
      `Key ${root.id} is revoked.\n1 key created with it is still valid; revoke it with --descendants.\n`,
    );
    expect(await json('keys', 'revoke', root.id, '--descendants')).toMatchObject({
      revoked_keys: 1,
      valid_descendants: 0,
    });
    expect(await engine.access.authenticate(child.key)).toBeUndefined();
    const listed = await json<{ events: object[] }>('audit', 'list', '--key', root.id);
    expect(listed.events).toEqual([expect.objectContaining({ kind: 'key.created', key_id: root.id })]);
    const { stdout } = await runProcess('audit', 'list', '--kind', 'key.created');
    expect(stdout).toMatch(new RegExp(`key\\.created +key:root +${root.id}`));
  });

  it('keys: escapes control characters in key names', async () => {
    await database.engine().keys.create({ name: 'a\u001b[2Jb' });
    expect((await run('keys', 'list')).stdout).not.toContain('\u001b');
  });
});
