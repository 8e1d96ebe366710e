import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { expectFailure } from '../support/cli.ts';
import { useProject } from '../support/package.ts';
import { runCli, runCliProcess, startCli, startProcess } from '../support/process.ts';

const project = useProject('linked');
const cwd = () => project.folder;
const variables = { MY_TOKEN: 'sekret-token-1', NO_COLOR: '1' };
const run = (...args: string[]) => runCli(['connector', ...args], { cwd: cwd(), env: variables });
const asProcess = (...args: string[]) =>
  runCliProcess(['connector', ...args], { cwd: cwd(), env: variables });

// Errors name files relative to the working directory of the process.
const home = process.cwd();
beforeAll(() => process.chdir(cwd()));
afterAll(() => process.chdir(home));

const write = (file: string, text: string) => writeFileSync(join(cwd(), file), text);
const read = (file: string) => readFileSync(join(cwd(), file), 'utf8');

let provider: Server;
let config: string;
let status = 200;
let extraHeaders: Record<string, string> = {};

/** Serves two pages of two items, with the current `status` and `extraHeaders`. */
beforeAll(async () => {
  provider = createServer((request, response) => {
    const after = Number(new URL(request.url ?? '', 'http://provider').searchParams.get('after') ?? 0);
    const items = [1, 2, 3, 4].filter((id) => id > after).slice(0, 2);
    response.writeHead(status, { 'content-type': 'application/json', ...extraHeaders });
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

/** A provider that matches the YAML template. */
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
  it('connector new: the http, code and yaml templates pass their own tests and type-check', async () => {
    for (const [kind, extension] of [
      ['http', 'ts'],
      ['code', 'ts'],
      ['yaml', 'yaml'],
    ] as const) {
      const { code, stdout } = await run('new', `issue-${kind}`, '--kind', kind, '--dir', `new-${kind}`);
      expect(code).toBe(0);
      expect(stdout).toContain(
        `Wrote new-${kind}/issue-${kind}.${extension} and new-${kind}/issue-${kind}.test.ts.`,
      );
    }
    const npx = (...args: string[]) =>
      startProcess('npx', args, { cwd: cwd(), env: { PATH: project.path() } }).finished;
    const [tested, typed] = await Promise.all([
      npx('vitest', 'run', 'new-'),
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
        ...['http', 'code', 'yaml'].map((kind) => `new-${kind}/issue-${kind}.test.ts`),
      ),
    ]);
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/Test Files .*3 passed/) });
    expect(typed).toMatchObject({ code: 0, stdout: '' });
  });

  it('connector new --yaml: the template runs unchanged against a matching provider', async () => {
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
      /configSchema: project: /,
    );
  });

  it('connector new: overwrites no file and rejects an invalid name', async () => {
    mkdirSync(join(cwd(), 'mine'));
    write('mine/taken.test.ts', '// mine');
    expectFailure(
      await run('new', 'taken', '--dir', 'mine'),
      /mine\/taken\.test\.ts already exists and is not overwritten\. Remove it/,
    );
    expect(existsSync(join(cwd(), 'mine/taken.ts'))).toBe(false);
    expect(read('mine/taken.test.ts')).toBe('// mine');
    expectFailure(await run('new', '../Evil'), /<name> must be a slug.*, got "\.\.\/Evil"/);
  });
});

describe('connector run', () => {
  it('connector run: prints pages, signals, the cursor and what the engine would do next', async () => {
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
      'The engine would sync the connection again after its interval, from this cursor.',
    ]);
  });

  it('connector run: uses the cursor file, --full and --limit, and logs requests', async () => {
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
    [429, { 'retry-after': '60' }, /^The engine would retry in 60 s: rate limited$/m],
    [401, {}, /^The engine would set the connection to needs_auth/m],
    [404, {}, /^The engine would fail the job; the next run starts at its regular time\.$/m],
    [410, {}, /^The engine would retry in 5 s: The provider no longer accepts the cursor/m],
  ])(
    'connector run: on HTTP %i it exits with 1 and prints what the engine would do',
    async (answer, headers, next) => {
      [status, extraHeaders] = [answer, headers as Record<string, string>];
      const { code, stdout } = await run('run', './items.ts', '--config', config).finally(() => {
        [status, extraHeaders] = [200, {}];
      });
      expect(code).toBe(1);
      expect(stdout).toMatch(next);
    },
  );

  it('connector run: stops if the next page must wait, and prints the delay', async () => {
    write(
      'patient.ts',
      `import { defineConnector } from 'syncline';
       const result = { signals: [], nextCursor: 1, hasMore: true, retryAfterSeconds: 60 };
       export default defineConnector({ provider: 'patient', name: 'Patient', sync: async () => result });`,
    );
    const { code, stdout } = await run('run', './patient.ts');
    expect(code).toBe(0);
    expect(stdout).toContain('The engine would run the next page in 60 s, as the connector requests.');
  });

  it('connector run: explains how to pass a credential if none was passed', async () => {
    write('locked.ts', itemsConnector.replace('optional(bearer())', 'bearer()'));
    const hint = /^Pass a credential with --credential-from-env <name> or --credential-file <file>\.$/m;
    expect((await run('run', './locked.ts', '--config', config)).stdout).toMatch(hint);
    status = 401;
    const refused = await run(
      ...['run', './locked.ts', '--config', config, '--credential-from-env', 'MY_TOKEN'],
    ).finally(() => {
      status = 200;
    });
    expect(refused.stdout).not.toMatch(hint);
  });

  it('connector run: a recording contains no token and replays without the provider', async () => {
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
    expect(recorded.stdout).toContain('Recorded to items.jsonl.');
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
      /GET http:\/\/elsewhere\.example\/items\?after=0 is not recorded in items\.jsonl\. Nearest matches: GET/,
    );
  });

  it('connector run --watch: reruns when the file or an import changes, until SIGINT', async () => {
    write('watched-signal.ts', signalOf('first'));
    write('watched.ts', itemsConnector.replace('./signal-of.ts', './watched-signal.ts'));
    const watching = startCli(['connector', 'run', './watched.ts', '--config', config, '--watch'], {
      cwd: cwd(),
    });
    await watching.output(/Watching 2 files for changes/);
    write('watched-signal.ts', 'this is no program');
    await watching.output(/error: .*watched\.ts could not be loaded/);
    write('watched-signal.ts', signalOf('second'));
    await watching.output(/second {2}1 /);
    await watching.output(/Watching[\s\S]*Watching[\s\S]*Watching/);
    write('watched.ts', `${itemsConnector.replace('./signal-of.ts', './watched-signal.ts')}\n// saved\n`);
    await watching.output(/2 new signals \(2 unchanged\)/);
    watching.process.kill('SIGINT');
    expect((await watching.finished).code).toBe(0);
  });
});

describe('connector test', () => {
  it('connector test: a correct connector passes, also with --chaos', async () => {
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
    expect(stdout).toMatch(/^✓ Synced 4 signals; the second sync found no duplicates\.$/m);
    expect(stdout).toMatch(/^No signals lost, none duplicated\.$/m);
    expect(code).toBe(0);
  });

  it('connector test --chaos: hides warnings of the connector during fault injection', async () => {
    write(
      'warning.ts',
      itemsConnector.replace(
        'expired: [410] });',
        "expired: [410] }).catch((error) => {\n      context.log.warn('in trouble');\n      throw error;\n    });",
      ),
    );
    const { code, stderr } = await run('test', './warning.ts', '--config', config, '--chaos', '--seed', '1');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('connector test: a connector that stores duplicates fails with the reason', async () => {
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

  it('connector test --chaos: detects state kept in a module variable', async () => {
    // A restart resets its position, and the repeated signals have no dedupe key.
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
      /^✗ Stopped before storing page 2: 1 signal duplicated or unexpected.*only: 'stopped before storing page 2', seed: 1\.$/m,
    );
  });

  it('connector test: a recording without the second sync is a warning, not a failure', async () => {
    await run('run', './items.ts', '--config', config, '--record', 'once.jsonl');
    const { code, stdout } = await run('test', './items.ts', '--config', config, '--replay', 'once.jsonl');
    expect(stdout).toMatch(
      /^! The second sync could not be tested: .* Record with `connector test --record`\.$/m,
    );
    expect(code).toBe(0);
  });
});

describe('invalid inputs', () => {
  const cases: [string, string[], RegExp][] = [
    [
      'a missing file',
      ['./none.ts'],
      /<file> must be an existing file, got "\.\/none\.ts"\. Create one with/,
    ],
    [
      'a file without a connector',
      ['./signal-of.ts'],
      /signal-of\.ts exports no connector; it exports signalOf\. Export the result of defineConnector/,
    ],
    [
      'two connectors',
      ['./two.ts'],
      /two\.ts exports 2 connectors: one, two\. Export the connector to run as the default export/,
    ],
    ['a file with a syntax error', ['./broken.ts'], /broken\.ts could not be loaded/],
    [
      'a config that is not valid JSON',
      ['./items.ts', '--config', '{nope'],
      /--config must be a JSON object.*, got invalid JSON/,
    ],
    [
      'a config that does not match the schema',
      ['./items.ts', '--config', '{"baseUrl":7}'],
      /--config must be valid for the connector's configSchema: baseUrl: .*expected string/,
    ],
    ['a missing config', ['./items.ts'], /configSchema: baseUrl: .*Pass it with --config/],
    [
      'a missing config file',
      ['./items.ts', '--config-file', 'none.json'],
      /--config-file must be a readable file, got "none\.json" \(ENOENT/,
    ],
    [
      'an unset environment variable',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--credential-from-env', 'UNSET'],
      /--credential-from-env must be .* that is set, got "UNSET"\. Set it: export/,
    ],
    [
      'a credential of an unknown type',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--credential-file', 'credential.json'],
      /The credential type is unknown or missing\. It must be/,
    ],
    ['an invalid limit', ['./items.ts', '--limit', '0'], /--limit must be a whole number from 1 to.*, got 0/],
    [
      'a missing recording',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--replay', 'none.jsonl'],
      /The recording none\.jsonl cannot be read/,
    ],
    [
      'a cursor file that is not valid JSON',
      ['./items.ts', '--config', '{"baseUrl":"http://x.example"}', '--cursor-file', 'broken.ts'],
      /--cursor-file must be a file with valid JSON, got ".*broken\.ts" \(/,
    ],
    ['YAML without a connector', ['./items.yaml'], /items\.yaml could not be loaded: .*baseUrl is missing/],
  ];
  beforeAll(() => {
    const made = (name: string) =>
      `export const ${name} = { provider: '${name}', name: '${name}', sync: async () => ({ signals: [] }) };\n`;
    write('two.ts', made('one') + made('two'));
    write('broken.ts', 'export const = ;');
    write('items.yaml', 'provider: items');
    write('credential.json', '{"type":"magic","word":"sekret-word-1"}');
  });
  it.each(cases)('connector run: rejects %s and names the fix', async (_name, args, reason) => {
    const ended = await run('run', ...args);
    expectFailure(ended, reason);
    expect(ended.stderr).not.toContain('sekret-word-1');
  });

  it('connector run: prefers the default export and accepts a factory function', async () => {
    const made = (kind: string) =>
      `() => ({ provider: 'made', name: 'Made', sync: async () => ({ signals: [{ kind: '${kind}', occurredAt: new Date(0), payload: 1 }] }) })`;
    write('made.ts', `export const other = ${made('other')};\nexport default ${made('meant')};\n`);
    write('function.mjs', `export const create = ${made('created')};\nexport const seven = (n) => n + 7;\n`);
    expect((await run('run', './made.ts')).stdout).toContain('meant');
    expect((await run('run', './function.mjs')).stdout).toContain('created');
  });
});
