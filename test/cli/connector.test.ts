import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { addConnector } from '../../src/cli/connector.ts';
import { describeError } from '../../src/contract/errors.ts';
import { expectFailure } from '../support/cli.ts';
import { useProject } from '../support/package.ts';
import { type Finished, runCli, startCli, startProcess } from '../support/process.ts';

const project = useProject('linked');
const cwd = () => project.folder;
const variables = { MY_TOKEN: 'sekret-token-1', NO_COLOR: '1' };
const asProcess = (...args: string[]) => runCli(['connector', ...args], { cwd: cwd(), env: variables });

/** The same without a process of its own, of which there would be dozens here. */
async function run(...args: string[]): Promise<Finished> {
  const program = new Command('syncline').exitOverride();
  addConnector(program);
  for (const command of program.commands[0]?.commands ?? []) command.exitOverride().option('--json');
  let [stdout, stderr] = ['', ''];
  const written = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += text;
    return true;
  });
  try {
    await program.parseAsync(['connector', ...args], { from: 'user' });
  } catch (error) {
    stderr = `error: ${describeError(error)}`;
    process.exitCode = 1;
  } finally {
    written.mockRestore();
  }
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  return { code, signal: null, stdout, stderr };
}

const home = process.cwd();
beforeAll(() => {
  process.chdir(cwd());
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
});
afterAll(() => {
  process.chdir(home);
  vi.unstubAllEnvs();
});

const write = (file: string, text: string) => writeFileSync(join(cwd(), file), text);
const read = (file: string) => readFileSync(join(cwd(), file), 'utf8');

let provider: Server;
let config: string;
let status = 200;
let etc: Record<string, string> = {};

/** Two pages of two items; or whatever status it is told to answer with. */
beforeAll(async () => {
  provider = createServer((request, response) => {
    const after = Number(new URL(request.url ?? '', 'http://provider').searchParams.get('after') ?? 0);
    const items = [1, 2, 3, 4].filter((id) => id > after).slice(0, 2);
    response.writeHead(status, { 'content-type': 'application/json', ...etc });
    response.end(JSON.stringify({ items, seen: request.headers.authorization ?? null }));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  config = JSON.stringify({ baseUrl: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` });
  write('items.ts', itemsConnector);
  write('signal-of.ts', signalOf('item'));
});
afterAll(() => provider.close());

const signalOf = (kind: string, key = 'dedupeKey: String(id)') =>
  `export const signalOf = (id: number) => ({ kind: '${kind}', occurredAt: '2025-01-01T00:00:00Z', payload: { id }, ${key} });\n`;

const itemsConnector = `
import { bearer, createHttp, defineConnector, optional } from 'syncline/connector';
import { z } from 'zod';
import { signalOf } from './signal-of.ts';

export const items = defineConnector({
  provider: 'items',
  name: 'Items',
  configSchema: z.object({ baseUrl: z.url() }),
  cursorSchema: z.object({ after: z.number() }),
  sync: async (context) => {
    const http = createHttp(context, { baseUrl: context.connection.config.baseUrl, authorize: optional(bearer()) });
    const after = context.cursor?.after ?? 0;
    const { data } = await http.get('/items', { query: { after }, schema: z.object({ items: z.array(z.number()) }), expired: [410] });
    return { signals: data.items.map(signalOf), nextCursor: { after: data.items.at(-1) ?? after }, hasMore: data.items.length === 2 };
  },
});
`;

/** A provider as the described starter wants it. */
async function startItems(): Promise<string> {
  const items = [1, 2, 3].map((id) => ({ id, updated_at: `2025-01-01T00:00:0${id}Z` }));
  const server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://provider');
    const since = searchParams.get('since') ?? '';
    response.writeHead(pathname === '/projects/apollo/items' ? 200 : 404);
    response.end(JSON.stringify({ items: items.filter((item) => item.updated_at >= since) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('connector new', () => {
  it.each([
    ['http', 'ts'],
    ['code', 'ts'],
    ['yaml', 'yaml'],
  ])('connector new: a connector of kind %s passes its own test and the types', async (kind, extension) => {
    const { code, stdout } = await run('new', `issue-${kind}`, '--kind', kind, '--dir', `new-${kind}`);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `Wrote new-${kind}/issue-${kind}.${extension} and new-${kind}/issue-${kind}.test.ts.`,
    );
    const npx = (...args: string[]) =>
      startProcess('npx', args, { cwd: cwd(), env: { PATH: project.path() } }).finished;
    const [tested, typed] = await Promise.all([
      npx('vitest', 'run', `new-${kind}`),
      npx(
        'tsc',
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--skipLibCheck',
        '--types',
        'node',
        '--allowImportingTsExtensions',
        `new-${kind}/issue-${kind}.test.ts`,
      ),
    ]);
    expect(tested).toMatchObject({ code: 0 });
    expect(typed).toMatchObject({ code: 0, stdout: '' });
  });

  it('connector new --yaml: what it writes runs as it stands, at a provider of its shape', async () => {
    await run('new', 'described', '--yaml', '--dir', 'described');
    const provider = await startItems();
    const file = read('described/described.yaml').replace('https://api.described.example', provider);
    write('described/described.yaml', file);
    const { code, stdout } = await run(
      'run',
      './described/described.yaml',
      '--config',
      '{"project":"apollo"}',
    );
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('3 signals in 1 run of described.'),
    });
    expectFailure(
      await run('run', './described/described.yaml', '--config', '{"project":"../x"}'),
      /configSchema wants: project: /,
    );
  });

  it('connector new: nothing is overwritten, and a wrong name is refused', async () => {
    mkdirSync(join(cwd(), 'mine'));
    write('mine/taken.test.ts', '// mine');
    expectFailure(
      await run('new', 'taken', '--dir', 'mine'),
      /mine\/taken\.test\.ts exists already, and is not overwritten\. Remove it/,
    );
    expect(existsSync(join(cwd(), 'mine/taken.ts'))).toBe(false);
    expect(read('mine/taken.test.ts')).toBe('// mine');
    expectFailure(await run('new', '../Evil'), /<name> is "\.\.\/Evil"; it must be a slug/);
  });
});

describe('connector run', () => {
  it('connector run: shows pages and signals, the cursor and what the engine would do next', async () => {
    const { code, stdout, stderr } = await asProcess('run', './items.ts', '--config', config);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      'page 1: 2 new signals',
      'occurred              kind  key  payload',
      '2025-01-01T00:00:00Z  item  1    {"id":1}',
      '2025-01-01T00:00:00Z  item  2    {"id":2}',
      'page 2: 2 new signals',
      'occurred              kind  key  payload',
      '2025-01-01T00:00:00Z  item  3    {"id":3}',
      '2025-01-01T00:00:00Z  item  4    {"id":4}',
      'page 3: 0 new signals',
      '4 signals in 3 runs of items.',
      'Cursor: {"after":4}',
      'In an engine the next run would come after its interval, from this cursor.',
    ]);
  });

  it('connector run: a cursor file is gone on from and written, --full and --limit are heeded, requests are shown', async () => {
    write('cursor.json', '{"after":2}');
    const first = await asProcess(
      'run',
      './items.ts',
      '--config',
      config,
      '--cursor-file',
      'cursor.json',
      '--verbose',
    );
    expect(first.stdout).toContain('2 signals in 2 runs of items.');
    expect(first.stderr).toMatch(/DEBUG: GET \/items\?after=2 → 200/);
    expect(read('cursor.json')).toBe('{"after":4}\n');
    const full = await run(
      'run',
      './items.ts',
      '--config',
      config,
      '--cursor-file',
      'cursor.json',
      '--full',
      '--limit',
      '1',
      '--json',
    );
    expect(JSON.parse(full.stdout)).toMatchObject({
      signals: [
        { kind: 'item', occurred_at: '2025-01-01T00:00:00.000Z', dedupe_key: '1', payload: { id: 1 } },
        { dedupe_key: '2' },
      ],
      cursor: { after: 2 },
      status: 'active',
      runs: [
        { type: 'full', outcome: 'succeeded', stored: 2, next: { type: 'incremental', not_before: null } },
      ],
    });
    expect(full.code).toBe(0);
  });

  it.each([
    [429, { 'retry-after': '60' }, /^In an engine it would be tried again in 60 s: rate limited$/m],
    [401, {}, /^In an engine the connection would need its user now \(needs_auth\)/m],
    [404, {}, /^In an engine the job would have failed; the next run would come at its usual time\.$/m],
    [410, {}, /^In an engine it would be tried again in 5 s: The provider no longer accepts the cursor/m],
  ])(
    'connector run: after a %i it fails, and tells what the engine would do',
    async (answer, headers, next) => {
      [status, etc] = [answer, headers as Record<string, string>];
      const { code, stdout } = await run('run', './items.ts', '--config', config).finally(() => {
        [status, etc] = [200, {}];
      });
      expect(code).toBe(1);
      expect(stdout).toMatch(next);
    },
  );

  it('connector run: where the next page has to wait, it ends, and tells for how long', async () => {
    write(
      'patient.ts',
      `import { defineConnector } from 'syncline';
       const result = { signals: [], nextCursor: 1, hasMore: true, retryAfterSeconds: 60 };
       export default defineConnector({ provider: 'patient', name: 'Patient', sync: async () => result });`,
    );
    const { code, stdout } = await run('run', './patient.ts');
    expect(code).toBe(0);
    expect(stdout).toContain('In an engine the next page would follow in 60 s, as the provider asks.');
  });

  it('connector run: where a credential is missing, it says how to give one', async () => {
    write('locked.ts', itemsConnector.replace('optional(bearer())', 'bearer()'));
    const remedy = /^Give it a credential with --credential-from-env <name> or --credential-file <file>\.$/m;
    expect((await run('run', './locked.ts', '--config', config)).stdout).toMatch(remedy);
    status = 401;
    const refused = await run(
      ...['run', './locked.ts', '--config', config, '--credential-from-env', 'MY_TOKEN'],
    ).finally(() => {
      status = 200;
    });
    expect(refused.stdout).not.toMatch(remedy);
  });

  it('connector run: what is recorded holds no token, and is replayed without the provider', async () => {
    const recorded = await run(
      'run',
      './items.ts',
      '--config',
      config,
      '--credential-from-env',
      'MY_TOKEN',
      '--record',
      'items.jsonl',
    );
    expect(recorded.stdout).toContain('Recorded in items.jsonl.');
    expect(read('items.jsonl')).not.toContain('sekret-token-1');
    status = 500;
    const replayed = await run(
      'run',
      './items.ts',
      '--config',
      config,
      '--replay',
      'items.jsonl',
      '--json',
    ).finally(() => {
      status = 200;
    });
    expect(JSON.parse(replayed.stdout)).toMatchObject({ cursor: { after: 4 }, unused: [] });
    const elsewhere = await run(
      'run',
      './items.ts',
      '--config',
      '{"baseUrl":"http://elsewhere.example"}',
      '--replay',
      'items.jsonl',
    );
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stdout).toMatch(
      /GET http:\/\/elsewhere\.example\/items\?after=0 is not recorded in items\.jsonl\. The nearest there: GET/,
    );
  });

  it('connector run --watch: what it imports is saved, and it shows what is new, until it is told to end', async () => {
    write('watched-signal.ts', signalOf('first'));
    write('watched.ts', itemsConnector.replace('./signal-of.ts', './watched-signal.ts'));
    const watching = startCli(['connector', 'run', './watched.ts', '--config', config, '--watch'], {
      cwd: cwd(),
    });
    await watching.output(/Waiting for changes of 2 files/);
    write('watched-signal.ts', 'this is no program');
    await watching.output(/error: .*watched\.ts could not be loaded/);
    write('watched-signal.ts', signalOf('second'));
    await watching.output(/second {2}1 /);
    await watching.output(/Waiting[\s\S]*Waiting[\s\S]*Waiting/);
    write('watched.ts', `${itemsConnector.replace('./signal-of.ts', './watched-signal.ts')}\n// saved\n`);
    await watching.output(/2 new signals \(2 as before\)/);
    watching.process.kill('SIGINT');
    expect((await watching.finished).code).toBe(0);
  });
});

describe('connector test', () => {
  it('connector test: a right connector passes, with chaos too', async () => {
    const { code, stdout } = await run(
      'test',
      './items.ts',
      '--config',
      config,
      '--expect',
      '4',
      '--chaos',
      '--faults',
      'sample',
      '--seed',
      '1',
    );
    expect(stdout).toMatch(/^✓ Synced 4 signals; a second sync found none of them again\.$/m);
    expect(stdout).toMatch(/^Nothing was lost, nothing was doubled\.$/m);
    expect(code).toBe(0);
  });

  it('connector test --chaos: what it warns of while it is disturbed is not shown', async () => {
    write(
      'warning.ts',
      itemsConnector.replace(
        'expired: [410] });',
        "expired: [410] }).catch((error) => {\n      context.log.warn('in trouble');\n      throw error;\n    });",
      ),
    );
    const { code, stderr } = await asProcess(
      'test',
      './warning.ts',
      '--config',
      config,
      '--chaos',
      '--seed',
      '1',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('connector test: a wrong connector fails, and says why', async () => {
    write(
      'keyless.ts',
      itemsConnector
        .replace('./signal-of.ts', './keyless-signal.ts')
        .replace('query: { after }', 'query: { after: after - 1 }'),
    );
    write('keyless-signal.ts', signalOf('item', ''));
    const { code, stdout } = await run('test', './keyless.ts', '--config', config, '--json');
    expect(code).toBe(1);
    const { ok, findings } = JSON.parse(stdout) as {
      ok: boolean;
      findings: { level: string; text: string }[];
    };
    expect(ok).toBe(false);
    expect(findings).toContainEqual({
      level: 'problem',
      text: expect.stringMatching(/^The second sync stored 1 signal again, such as item \{"id":4\}/),
    });
    expect(findings).toContainEqual({
      level: 'warning',
      text: expect.stringMatching(/without a dedupeKey, such as item/),
    });
  });

  it('connector test --chaos: state in a variable of the module dies with the process, and is missed', async () => {
    // It forgets its place when the process dies, and what it shows again has no key.
    write(
      'forgetful.ts',
      `let next = 0;
export default { provider: 'forgetful', name: 'Forgetful', sync: async () => {
  next++;
  const signals = next <= 2 ? [{ kind: 'item', occurredAt: new Date(0), payload: { next } }] : [];
  return { signals, nextCursor: next, hasMore: next <= 2 };
} };\n`,
    );
    const { code, stdout } = await run('test', './forgetful.ts', '--chaos', '--seed', '1');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^✗ Stopped before storing page 2: 1 signal doubled or unexpected.*only: 'stopped before storing page 2', seed: 1\.$/m,
    );
  });

  it('connector test: a recording that lacks the second sync is told apart from a failure', async () => {
    await run('run', './items.ts', '--config', config, '--record', 'once.jsonl');
    const { code, stdout } = await run('test', './items.ts', '--config', config, '--replay', 'once.jsonl');
    expect(stdout).toMatch(
      /^! The second sync could not be tested: .* Record with `connector test --record`\.$/m,
    );
    expect(code).toBe(0);
  });
});

describe('wrong inputs', () => {
  const cases: [string, string[], RegExp][] = [
    [
      'a file that is not there',
      ['./none.ts'],
      /The connector file \.\/none\.ts does not exist\. Name an existing file, or make one with/,
    ],
    [
      'a file without a connector',
      ['./signal-of.ts'],
      /signal-of\.ts exports no connector; it exports signalOf\. Export what defineConnector returns/,
    ],
    [
      'two connectors',
      ['./two.ts'],
      /two\.ts exports 2 connectors: one, two\. Export the one to run as default/,
    ],
    ['a program that is none', ['./broken.ts'], /broken\.ts could not be loaded/],
    [
      'a config that is not JSON',
      ['./items.ts', '--config', '{nope'],
      /--config is not valid JSON; it must be a JSON object/,
    ],
    [
      'a config that the schema refuses',
      ['./items.ts', '--config', '{"baseUrl":7}'],
      /--config is not what the connector's configSchema wants: baseUrl: .*expected string/,
    ],
    ['no config where one is wanted', ['./items.ts'], /configSchema wants: baseUrl: .*Give it with --config/],
    [
      'a config file that is not there',
      ['./items.ts', '--config-file', 'none.json'],
      /--config-file is none\.json, which cannot be read: ENOENT/,
    ],
    [
      'a variable that is not set',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--credential-from-env', 'NOBODY'],
      /--credential-from-env names NOBODY, which is not set\. Set it first/,
    ],
    [
      'a credential of no type',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--credential-file', 'credential.json'],
      /The credential has a type that does not exist, or none\. It must be/,
    ],
    [
      'a limit that is none',
      ['./items.ts', '--limit', '0'],
      /--limit is 0; it must be a whole number from 1 to/,
    ],
    [
      'a recording that is not there',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--replay', 'none.jsonl'],
      /The recording none\.jsonl cannot be read/,
    ],
    [
      'a cursor that is not JSON',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--cursor-file', 'broken.ts'],
      /--cursor-file is broken\.ts, which is not valid JSON/,
    ],
    ['YAML that is no connector', ['./items.yaml'], /items\.yaml could not be loaded: .*baseUrl is missing/],
  ];
  beforeAll(() => {
    const made = (name: string) =>
      `export const ${name} = { provider: '${name}', name: '${name}', sync: async () => ({ signals: [] }) };\n`;
    write('two.ts', made('one') + made('two'));
    write('broken.ts', 'export const = ;');
    write('items.yaml', 'provider: items');
    write('credential.json', '{"type":"magic","word":"sekret-word-1"}');
  });
  it.each(cases)('connector run: %s is refused with a remedy', async (_name, args, reason) => {
    const ended = await run('run', ...args);
    expectFailure(ended, reason);
    expect(ended.stderr).not.toContain('sekret-word-1');
  });

  it('connector run: a default export comes first, and a function may make the connector', async () => {
    const made = (kind: string) =>
      `() => ({ provider: 'made', name: 'Made', sync: async () => ({ signals: [{ kind: '${kind}', occurredAt: new Date(0), payload: 1 }] }) })`;
    write('made.ts', `export const other = ${made('other')};\nexport default ${made('meant')};\n`);
    write('function.mjs', `export const create = ${made('created')};\nexport const seven = (n) => n + 7;\n`);
    expect((await run('run', './made.ts')).stdout).toContain('meant');
    expect((await run('run', './function.mjs')).stdout).toContain('created');
  });
});
