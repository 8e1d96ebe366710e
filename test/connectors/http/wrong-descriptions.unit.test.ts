import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HttpDescription, http, httpFromYaml } from '../../../src/connectors/index.ts';
import { SynclineError } from '../../../src/index.ts';

type Json = Record<string, unknown>;

const validDescription = () => ({
  provider: 'tracker',
  baseUrl: 'https://api.tracker.example',
  auth: { type: 'bearer' },
  config: { project: 'string' },
  streams: {
    issues: {
      request: { path: '/projects/{config.project}/issues' },
      records: 'data.items',
      pagination: { type: 'link' },
      cursor: { path: 'updated_at', order: 'ascending', parameter: 'since' },
      signal: { kind: 'issue.{status}', key: 'id' },
    },
  },
});

/** A valid description with one value changed; undefined removes it. */
function descriptionWith(path: string, value: unknown): unknown {
  const description = validDescription() as Json;
  const steps = path.split('.');
  const last = steps.pop() as string;
  const inner = steps.reduce<Json>((found, step) => found[step] as Json, description);
  if (value === undefined) delete inner[last];
  else inner[last] = value;
  return description;
}

/** The lines of the error, without the first. */
function linesOf(make: () => unknown): string[] {
  try {
    make();
  } catch (error) {
    if (!(error instanceof SynclineError) || error.code !== 'CONFIG_INVALID') throw error;
    return error.message.split('\n').slice(1);
  }
  return [];
}

const stream = 'streams.issues';
const types = 'one of none, link, next_url, cursor, page, offset';
const sent = 'which the request already sends; remove one of them.';
const secret = `looks like a secret; a description must not contain any. Use the connection's credential (auth) or, for secrets of the app, \${env.NAME}.`;
const cursorPage = { type: 'cursor', path: 'next', parameter: 'after' };

const invalidCases: [path: string, value: unknown, ...lines: string[]][] = [
  ['provider', undefined, 'provider is missing; it must be a slug such as tracker.'],
  [
    'provider',
    'Our Tracker',
    'provider is "Our Tracker"; it must be a slug of a-z, 0-9, - and _, at most 63 characters.',
  ],
  ['nmae', 'Tracker', 'nmae is not known. Did you mean name?'],
  ['name', 7, 'name is 7; it must be the name of the provider.'],
  [
    'baseUrl',
    'api.tracker.example',
    'baseUrl is "api.tracker.example"; it must be an http or https URL without a query, a fragment, a name or a password.',
  ],
  [
    'baseUrl',
    'https://ann:pa55word@x.example',
    'baseUrl is "https://[hidden]@x.example"; it must be an http or https URL without a query, a fragment, a name or a password.',
  ],
  [
    'baseUrl',
    'https://x.example/?a=1',
    'baseUrl is "https://x.example/?a=1"; it must be an http or https URL without a query, a fragment, a name or a password.',
  ],
  [
    'baseUrl',
    'https://{config.site}.x.example',
    'baseUrl has the placeholder {config.site}, which is not known. Known: config.project.',
  ],
  [
    'baseUrl',
    'https://x.example/{config.project}',
    'baseUrl has a placeholder after the host; move it to request.path, where it is encoded as a segment.',
  ],
  [
    'baseUrl',
    `\${env.NOT_SET_ANYWHERE}`,
    'baseUrl needs the environment variable NOT_SET_ANYWHERE, which is not set.',
  ],
  ['network', 'private', 'network is "private"; it must be one of public, any.'],
  ['auth', undefined, 'auth is missing; it must be an object such as { type: bearer }.'],
  ['auth', 'bearer', 'auth is "bearer"; it must be an object such as { type: bearer }.'],
  [
    'auth.type',
    'baerer',
    'auth.type is "baerer"; it must be one of none, bearer, basic, header, query, oauth2. Did you mean bearer?',
  ],
  ['auth', { type: 'header' }, 'auth.header is missing; it must be the name of a header.'],
  ['auth', { type: 'header', header: 'x key' }, 'auth.header is "x key"; it must be the name of a header.'],
  ['auth.token', 'abc', 'auth.token is not known. Known: type, prefix, optional.'],
  [
    'auth',
    {
      type: 'oauth2',
      oauth2: {
        authorizationUrl: 'http://x.example/a',
        tokenUrl: 'nowhere',
        clientId: 'x',
        clientSecret: 'hunter22',
      },
    },
    'auth.oauth2.authorizationUrl is "http://x.example/a"; it must be an https URL.',
    'auth.oauth2.tokenUrl is "nowhere"; it must be an https URL.',
    `auth.oauth2.clientSecret is written out; it must be \${env.NAME}, so that no secret is kept in a description.`,
  ],
  [
    'config.project',
    'strng',
    'config.project is "strng"; it must be string, number, boolean, or { type, optional, default, pattern, description }.',
  ],
  [
    'config.project',
    { type: 'strng' },
    'config.project.type is "strng"; it must be one of string, number, boolean. Did you mean string?',
  ],
  [
    'config.project',
    { type: 'number', pattern: '\\d' },
    'config.project.pattern is only valid with type string, and the type is number.',
  ],
  [
    'config.project',
    { type: 'string', pattern: '(' },
    'config.project.pattern is "("; it must be a regular expression.',
  ],
  ['config.project', { type: 'string', default: 7 }, 'config.project.default is 7; it must be a string.'],
  [
    'config.project',
    { type: 'string', pattern: 'a+', default: 'b' },
    'config.project.default is "b"; it must be text that matches a+.',
  ],
  [
    'config',
    {},
    `${stream}.request.path has the placeholder {config.project}, which is not known. Known: cursor, externalId, now, now.date, now.iso_seconds, now.epoch_seconds, now.epoch_ms.`,
  ],
  [
    'config.a b',
    'string',
    'config.a b is no name; it must be a name of letters, digits and _ that starts with a letter, at most 60 characters.',
  ],
  [
    'budgets',
    [{ name: 'core', per: 'user', limit: 0, perSeconds: 1 }],
    'budgets[0].per is "user"; it must be one of credential, app.',
    'budgets[0].limit is 0; it must be a whole number from 1 to 1000000000.',
  ],
  [
    'headers',
    { 'x-version': '{config.version}' },
    'headers.x-version has the placeholder {config.version}, which is not known. Known: config.project.',
  ],
  ['headers', { authorization: 'Bearer abcdefghijkl' }, `headers.authorization ${secret}`],
  ['headers', { 'x-note': 'ghp_abcdefghijklmnopqrstuvwxyz' }, `headers.x-note ${secret}`],
  ['streams', {}, 'streams is empty; describe at least one stream.'],
  ['streams', undefined, 'streams is missing; it must be an object of names and streams.'],
  [`${stream}.recrods`, 'x', `${stream}.recrods is not known. Did you mean records?`],
  [
    `${stream}.records`,
    'data.',
    `${stream}.records is "data."; it must be a path that does not end with a dot.`,
  ],
  [
    `${stream}.records`,
    'data[x]',
    `${stream}.records is "data[x]"; it must be a path such as data.items or [0].id; "[x]" is not a step.`,
  ],
  [
    `${stream}.request`,
    undefined,
    `${stream}.request is missing; it must be an object { method, path, query, headers, json }.`,
  ],
  [
    `${stream}.request.path`,
    '/projects/{config.projct}',
    `${stream}.request.path has the placeholder {config.projct}, which is not known. Did you mean config.project?`,
  ],
  [
    `${stream}.request.path`,
    'https://evil.example/x',
    `${stream}.request.path is "https://evil.example/x"; it must be a path below the base URL, such as /projects/{config.project}/issues, without ?, # and ...`,
  ],
  [
    `${stream}.request.path`,
    '/a/../b',
    `${stream}.request.path is "/a/../b"; it must be a path below the base URL, such as /projects/{config.project}/issues, without ?, # and ...`,
  ],
  [
    `${stream}.request.path`,
    '/a?b=1',
    `${stream}.request.path is "/a?b=1"; it must be a path below the base URL, such as /projects/{config.project}/issues, without ?, # and ...`,
  ],
  [
    `${stream}.request.method`,
    'DELETE',
    `${stream}.request.method is "DELETE"; it must be one of GET, POST.`,
  ],
  [
    `${stream}.request.json`,
    { a: 1 },
    `${stream}.request.json is a body, but the method is GET; set method: POST.`,
  ],
  [
    `${stream}.request.query`,
    { a: null },
    `${stream}.request.query.a is null; it must be text, a number, true or false.`,
  ],
  [
    `${stream}.request.query`,
    { since: 'x' },
    `${stream}.request.query.since is already sent by cursor.parameter; remove one of them.`,
  ],
  [`${stream}.request.query`, { api_key: 'abcdefghijk' }, `${stream}.request.query.api_key ${secret}`],
  [
    `${stream}.request.query`,
    { since2: '{curser}' },
    `${stream}.request.query.since2 has the placeholder {curser}, which is not known. Did you mean cursor?`,
  ],
  [
    `${stream}.request.query`,
    { key: `\${env.KEY}` },
    `${stream}.request.query.key contains \${…}; \${env.NAME} is only supported in baseUrl, headers and auth.oauth2.`,
  ],
  [`${stream}.request.headers`, { 'a b': 'x' }, `${stream}.request.headers.a b is not the name of a header.`],
  [
    `${stream}.pagination.type`,
    'pages',
    `${stream}.pagination.type is "pages"; it must be ${types}. Did you mean page?`,
  ],
  [
    `${stream}.pagination`,
    'link',
    `${stream}.pagination is "link"; it must be an object such as { type: link }.`,
  ],
  [
    `${stream}.pagination`,
    { type: 'cursor', parameter: 'after' },
    `${stream}.pagination.path is missing; it must be a path such as data.items or [0].id.`,
  ],
  [
    `${stream}.pagination`,
    { type: 'next_url' },
    `${stream}.pagination.path is missing; it must be a path such as data.items or [0].id.`,
  ],
  [
    `${stream}.pagination`,
    { type: 'page' },
    `${stream}.pagination.parameter is missing; it must be the name of a parameter.`,
  ],
  [
    `${stream}.pagination`,
    { ...cursorPage, parameter: 'since' },
    `${stream}.pagination.parameter is "since", ${sent}`,
  ],
  [
    `${stream}.pagination`,
    { ...cursorPage, size: { parameter: 'after', value: 100 } },
    `${stream}.pagination.size.parameter is "after", ${sent}`,
  ],
  [
    `${stream}.pagination`,
    { ...cursorPage, in: 'json' },
    `${stream}.pagination.in is "json", but GET has no body; set request.method: POST.`,
  ],
  [
    `${stream}.pagination`,
    { ...cursorPage, hasMore: 'more', isLast: 'last' },
    `${stream}.pagination.isLast and hasMore are redundant; keep one of them.`,
  ],
  [
    `${stream}.pagination`,
    { type: 'page', parameter: 'page', size: { parameter: 'n', value: 0 } },
    `${stream}.pagination.size.value is 0; it must be a whole number from 1 to 10000.`,
  ],
  [
    `${stream}.cursor.order`,
    'asc',
    `${stream}.cursor.order is "asc"; it must be one of ascending, descending, none. Did you mean ascending?`,
  ],
  [
    `${stream}.cursor.parameter`,
    undefined,
    `${stream}.cursor.parameter is missing, and the request has no {cursor}: with order: ascending, new records cannot be requested. Set one of them, or order: descending if the list is sorted newest first.`,
  ],
  [
    `${stream}.cursor`,
    { path: 'id', order: 'descending', format: 'text' },
    `${stream}.cursor.format is "text", which has no order; with order: descending it must be a time or a number.`,
    `${stream}.signal.occurredAt is missing; without a cursor that is a time it must be the path of one.`,
  ],
  [
    `${stream}.cursor`,
    { path: 'u', order: 'descending', sendAs: 'date', start: '2025-01-01', inclusive: false },
    `${stream}.cursor.sendAs is never sent: there is neither cursor.parameter nor {cursor}.`,
    `${stream}.cursor.start is never sent: there is neither cursor.parameter nor {cursor}.`,
    `${stream}.cursor.inclusive needs a cursor parameter, and there is none.`,
  ],
  [
    `${stream}.cursor.sendAs`,
    'text',
    `${stream}.cursor.sendAs is "text", but the format is iso: only times can be sent in another format.`,
  ],
  [
    `${stream}.cursor.start`,
    'yesterday',
    `${stream}.cursor.start is "yesterday"; it must be of the format iso.`,
  ],
  [
    `${stream}.cursor.start`,
    { days: 3 },
    `${stream}.cursor.start.daysAgo is missing; it must be a whole number from 1 to 36500.`,
    `${stream}.cursor.start.days is not known. Did you mean daysAgo?`,
  ],
  [
    `${stream}.cursor.lookbackSeconds`,
    -1,
    `${stream}.cursor.lookbackSeconds is -1; it must be a whole number from 0 to 31536000.`,
  ],
  [
    `${stream}.cursor`,
    undefined,
    `${stream}.signal.occurredAt is missing; without a cursor that is a time it must be the path of one.`,
  ],
  [
    `${stream}.signal.key`,
    undefined,
    `${stream}.signal.key is missing; it must be a path, or a list of paths.`,
  ],
  [`${stream}.signal.key`, [], `${stream}.signal.key is an empty list; it must be a list of 1 to 100 paths.`],
  [
    `${stream}.signal.kind`,
    '{a..b}',
    `${stream}.signal.kind has the placeholder {a..b}, which is not a path into a record.`,
  ],
  [
    `${stream}.signal.kind`,
    { path: 'a', map: { a: 1 } },
    `${stream}.signal.kind.map.a is 1; it must be the kind of a signal.`,
    `${stream}.signal.kind.default is missing; it must be the kind of a signal.`,
  ],
  [
    `${stream}.signal.skipWhen`,
    [{ path: 'a' }],
    `${stream}.signal.skipWhen[0] has no test; set equals, in or exists.`,
  ],
  [
    `${stream}.signal.deleted`,
    { path: 'a', equals: 1, in: [1] },
    `${stream}.signal.deleted.in and equals are mutually exclusive; put all values into in.`,
  ],
  [`${stream}.signal.immutable`, 'yes', `${stream}.signal.immutable is "yes"; it must be true or false.`],
  [
    `${stream}.signal`,
    { kind: 'x', key: 'id', immutable: true, version: 'v', deleted: { path: 'd', equals: true } },
    `${stream}.signal.version identifies versions, but immutable records have only one.`,
    `${stream}.signal.deleted is a change, but immutable records never change: it would not be detected.`,
  ],
  ['errors', [{ means: 'permanent' }], 'errors[0] matches every response; set status, path, or both.'],
  [
    'errors',
    [{ status: 99, means: 'expired' }],
    'errors[0].status is 99; it must be a whole number from 200 to 599.',
    'errors[0].means is "expired"; it must be one of cursor_expired, rate_limited, unauthorized, permanent, transient, nothing.',
  ],
  ['errors', [{ status: 400, equals: 'x', means: 'permanent' }], 'errors[0].equals needs a path to test.'],
  [
    'errors',
    [{ status: 400, path: 'error', exists: true, means: 'permanent', retryAfter: 'wait' }],
    'errors[0].retryAfter is only valid with means: rate_limited, not with permanent.',
  ],
];

describe('http: invalid descriptions', () => {
  it.each(invalidCases.map(([path, value, ...lines], i) => ({ i, path, value, lines })))(
    'http: an invalid description is rejected with path, value and allowed values: $path ($i)',
    ({ path, value, lines }) => {
      expect(linesOf(() => http(descriptionWith(path, value) as never))).toEqual(lines);
    },
  );

  it('http: a valid description is accepted, and values other than objects are rejected', () => {
    expect(invalidCases.length).toBeGreaterThanOrEqual(40);
    expect(linesOf(() => http(validDescription() as never))).toEqual([]);
    for (const value of [null, 1, 'x', [], undefined, () => 1])
      expect(linesOf(() => http(value as never))[0]).toMatch(
        /^the description .*it must be an object that describes an API\.$/,
      );
  });

  it('http: one error lists all problems, including conflicts between fields', () => {
    const description = validDescription() as unknown as { auth: Json; streams: Record<string, Json> };
    description.auth = { type: 'beare' };
    description.streams['pulls'] = {
      ...validDescription().streams.issues,
      cursor: { path: 'u', order: 'none' },
    };
    description.streams['broken'] = { ...validDescription().streams.issues, records: 5 };
    expect(linesOf(() => http(description as never))).toEqual([
      'auth.type is "beare"; it must be one of none, bearer, basic, header, query, oauth2. Did you mean bearer?',
      'streams.broken.records is 5; it must be a path such as data.items, or { path, optional }.',
      expect.stringMatching(/^streams\.pulls\.cursor\.parameter is missing/),
    ]);
  });

  it('http: invalid descriptions do not compile', () => {
    const stream = { request: { path: '/' }, signal: { kind: 'x', key: 'id', occurredAt: 'at' } };
    const make = (things: HttpDescription['streams'][string]) =>
      linesOf(() =>
        http({ provider: 'x', baseUrl: 'https://x.example', auth: { type: 'none' }, streams: { things } }),
      );
    expect(make({ ...stream, pagination: { type: 'page', parameter: 'p' } })).toEqual([]);
    // @ts-expect-error: unknown pagination type
    expect(make({ ...stream, pagination: { type: 'pages' } })).toHaveLength(1);
    // @ts-expect-error: path is required
    expect(make({ ...stream, pagination: { type: 'cursor', parameter: 'p' } })).toHaveLength(1);
    // @ts-expect-error: misspelled records
    expect(make({ ...stream, recrods: 'x' })).toHaveLength(1);
  });

  it('http: lists at most 50 problems and counts the rest', () => {
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`unknown_field_${i}`, 1]));
    const lines = linesOf(() => http({ ...validDescription(), ...many } as never));
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toBe('… and 30 more.');
  });

  it('http: rejects values that are too deep or too large before traversing them', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(linesOf(() => http({ ...validDescription(), name: deep } as never))).toEqual([
      'the description is nested more than 40 levels deep.',
    ]);
    expect(linesOf(() => http({ ...validDescription(), name: Array(30_000).fill(1) } as never))).toEqual([
      'the description contains more than 20000 values.',
    ]);
  });

  it('http: any JSON description is accepted or rejected with CONFIG_INVALID', () => {
    const keys = [
      'provider',
      'baseUrl',
      'auth',
      'streams',
      'config',
      'type',
      'path',
      'request',
      'signal',
      'kind',
      'key',
      'cursor',
      'order',
      'errors',
      'pagination',
      '__proto__',
      'constructor',
    ];
    const texts = fc.oneof(
      fc.constantFrom(
        '{config.x}',
        `\${env.X}`,
        'a.b[0]',
        '{',
        '[',
        '\\',
        'https://x.example',
        'link',
        'page',
        '{}',
      ),
      fc.string(),
    );
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        texts,
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), tie('json'), { maxKeys: 6 }),
      ),
    }));
    const places = [
      '',
      'auth',
      'config',
      'errors',
      'budgets',
      'streams',
      stream,
      `${stream}.request`,
      `${stream}.pagination`,
      `${stream}.cursor`,
      `${stream}.signal`,
      `${stream}.signal.kind`,
      `${stream}.request.json`,
      `${stream}.request.query`,
    ];
    fc.assert(
      fc.property(fc.constantFrom(...places), json, (place, value) => {
        linesOf(() => http((place === '' ? value : descriptionWith(place, value)) as never));
      }),
      { numRuns: 600 },
    );
    fc.assert(
      fc.property(
        fc.oneof(texts, fc.string({ unit: 'binary', maxLength: 200 })),
        (text) => void linesOf(() => httpFromYaml(`${text}\n`)),
      ),
      { numRuns: 200 },
    );
  });
});

describe('http: YAML', () => {
  const yaml = `provider: tracker
baseUrl: https://api.tracker.example
auth: { type: none }
streams:
  issues:
    request: { path: /issues }
    pagination:
      type: pag
    signal:
      kind: issue
      occurredAt: at
      keyy: id
`;
  it('http: errors in YAML name their lines', () => {
    expect(linesOf(() => httpFromYaml(yaml))).toEqual([
      `line 8: streams.issues.pagination.type is "pag"; it must be ${types}. Did you mean page?`,
      'line 10: streams.issues.signal.key is missing; it must be a path, or a list of paths.',
      'line 12: streams.issues.signal.keyy is not known. Did you mean key?',
    ]);
  });

  it('http: rejects invalid YAML, duplicate keys, alias bombs and oversized files', () => {
    expect(linesOf(() => httpFromYaml('provider: [\nx: 1'))[0]).toMatch(
      /^line \d: the description is not valid YAML: /,
    );
    expect(linesOf(() => httpFromYaml('provider: a\nprovider: b\n'))).toEqual([
      'line 2: the description is not valid YAML: Map keys must be unique',
    ]);
    const bomb = [
      'a0: &a0 [x, x]',
      ...Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]`),
    ].join('\n');
    expect(linesOf(() => httpFromYaml(bomb))[0]).toMatch(/not usable YAML/);
    expect(linesOf(() => httpFromYaml('x'.repeat(2_000_000)))).toEqual([
      'the description is larger than 1048576 bytes.',
    ]);
  });

  it('http: reads a description from a file, and the error names a missing file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'syncline-http-'));
    try {
      const file = join(folder, 'tracker.yaml');
      writeFileSync(file, yaml.replace('pag\n', 'link\n').replace('keyy', 'key'));
      expect(httpFromYaml(file)).toMatchObject({ provider: 'tracker', name: 'tracker' });
      expect(() => httpFromYaml(join(folder, 'other.yaml'))).toThrow(/other\.yaml could not be read: ENOENT/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('http: app secrets come from the environment, and a missing variable is an error', () => {
    const variable = (name: string) => `\${env.${name}}`;
    const auth = `auth:
  type: oauth2
  oauth2: { authorizationUrl: 'https://x.example/a', tokenUrl: 'https://x.example/t', clientId: '${variable('ID')}', clientSecret: '${variable('SECRET')}', scopes: [read] }`;
    const text = yaml.replace('auth: { type: none }', auth).replace('pag\n', 'link\n').replace('keyy', 'key');
    expect(httpFromYaml(text, { env: { ID: 'id', SECRET: 'hush' } }).oauth2).toMatchObject({
      clientId: 'id',
      clientSecret: 'hush',
      scopes: ['read'],
    });
    expect(linesOf(() => httpFromYaml(text, { env: { ID: 'id' } }))).toEqual([
      'line 5: auth.oauth2.clientSecret needs the environment variable SECRET, which is not set.',
    ]);
  });
});
