import { circular, trap } from './odd-values.ts';

export interface ConfigCase {
  name: string;
  options?: unknown;
  env?: NodeJS.ProcessEnv;
  /** The expected error; without it, the result is `config`. */
  refused?: RegExp;
  config?: unknown;
}

const endless: unknown[] = [];
endless.push(endless);
const tick = (value: unknown) => ({ scheduler: { tickIntervalSeconds: value } });
const wrongTick = (name: string, value: unknown, shown: string): ConfigCase => ({
  name: `a tick of ${name}`,
  options: tick(value),
  refused: new RegExp(
    `^option scheduler\\.tickIntervalSeconds must be a whole number of seconds from 10 to 300, got ${shown}\\.$`,
  ),
});
const unknown = (options: unknown, name: string): ConfigCase => ({
  name: `an option named ${name}`,
  options,
  refused: new RegExp(`^Unknown option ${name}\\. (Did you mean|Known:) `),
});
const variable = (name: string, text: string, refused: RegExp): ConfigCase => ({
  name: `${name}=${JSON.stringify(text).slice(0, 60)}`,
  env: { [name]: text },
  refused,
});
const tickVariable = 'SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS';
const wrongTickVariable = (text: string) =>
  variable(
    tickVariable,
    text,
    new RegExp(`^${tickVariable} must be a whole number of seconds from 10 to 300, got .*\\.$`, 's'),
  );
const key = Buffer.alloc(32, 1).toString('base64');

export const configCases: readonly ConfigCase[] = [
  { name: 'null', options: null, refused: /^The configuration \(option\) must be an object, got null\.$/ },
  { name: 'a list', options: [], refused: /must be an object, got a list/ },
  { name: 'a function', options: () => ({}), refused: /must be an object, got function/ },
  { name: 'a number', options: 42, refused: /must be an object, got number/ },
  {
    name: 'a section that is null',
    options: { scheduler: null },
    refused: /^option scheduler must be an object, got null/,
  },
  {
    name: 'a section that is a list',
    options: { scheduler: [60] },
    refused: /^option scheduler must be .*, got a list/,
  },
  {
    name: 'a section that is a BigInt',
    options: { scheduler: 60n },
    refused: /^option scheduler must be an object, got bigint/,
  },
  {
    name: 'a section that is a circular list',
    options: { scheduler: endless },
    refused: /^option scheduler must be .*, got a list/,
  },
  {
    name: 'a section that is a symbol',
    options: { scheduler: Symbol('odd') },
    refused: /^option scheduler must be .*, got symbol/,
  },
  unknown({ constructor: {} }, 'constructor'),
  unknown({ toString: {} }, 'toString'),
  unknown({ hasOwnProperty: { name: 1 } }, 'hasOwnProperty'),
  unknown(JSON.parse('{"__proto__":{"scheduler":{"tickIntervalSeconds":60}}}'), '__proto__'),
  unknown({ scheduler: { constructor: 1 } }, 'scheduler\\.constructor'),
  unknown({ scheduler: { valueOf: 1 } }, 'scheduler\\.valueOf'),
  unknown({ scheduler: JSON.parse('{"__proto__":{}}') }, 'scheduler\\.__proto__'),
  unknown({ executor: { concurency: 5 } }, 'executor\\.concurency'),
  wrongTick('a string', '60', '60'),
  wrongTick('NaN', Number.NaN, 'null'),
  wrongTick('Infinity', Number.POSITIVE_INFINITY, 'null'),
  wrongTick('-0', -0, '0'),
  wrongTick('2^53', 2 ** 53, '9007199254740992'),
  wrongTick('a BigInt', 60n, '60'),
  wrongTick('a list', [60], '\\[60\\]'),
  wrongTick('a Date', new Date(60), '"1970-01-01T00:00:00.060Z"'),
  wrongTick('a symbol', Symbol('odd'), 'Symbol\\(odd\\)'),
  wrongTick('a circular object', circular(), 'an object that cannot be shown'),
  wrongTick('an object whose toJSON throws', { toJSON: trap }, 'an object that cannot be shown'),
  wrongTick('10 MB of text', 'x'.repeat(10_000_000), 'x{199}…'),
  wrongTickVariable('1e2'),
  wrongTickVariable('0x3c'),
  wrongTickVariable('６０'),
  wrongTickVariable('60\n60'),
  wrongTickVariable('\ufeff60s'),
  wrongTickVariable('1'.repeat(400)),
  wrongTickVariable('-60'),
  wrongTickVariable('60;DROP TABLE x'),
  variable(
    'SYNCLINE_METRICS_TENANT_LABEL',
    'constructor',
    /^SYNCLINE_METRICS_TENANT_LABEL must be true or false, got constructor/,
  ),
  variable(
    'SYNCLINE_METRICS_TENANT_LABEL',
    '__proto__',
    /^SYNCLINE_METRICS_TENANT_LABEL must be true or false, got __proto__/,
  ),
  variable('SYNCLINE_LOG_LEVEL', 'toString', /^SYNCLINE_LOG_LEVEL must be one of.*, got toString/),
  variable(
    'SYNCLINE_DATABASE_SCHEMA',
    'a\0b',
    /^SYNCLINE_DATABASE_SCHEMA must be a name of 1 to 63 bytes.*, got /s,
  ),
  variable('SYNCLINE_DATABASE_SCHEMA', '💥'.repeat(16), /must be a name of 1 to 63 bytes/),
  variable('SYNCLINE_DATABASE_URL', 'javascript:alert(1)', /^SYNCLINE_DATABASE_URL must be .*, got \(hidden/),
  variable(
    'SYNCLINE_DATABASE_URL',
    'postgres://u:s3cret@[::1',
    /^(?!.*s3cret)SYNCLINE_DATABASE_URL must be .*, got postgres:\/\/u:\*\*\*@/,
  ),
  variable(
    'SYNCLINE_CREDENTIALS_KEYS',
    'k:short',
    /^(?!.*short)SYNCLINE_CREDENTIALS_KEYS must be .*, got \(hidden\)/,
  ),
  variable(
    'SYNCLINE_CREDENTIALS_KEYS',
    `k:${key},k:${key}`,
    /^(?!.*AQEB)SYNCLINE_CREDENTIALS_KEYS must be .*, got \(hidden\)/,
  ),
  variable(
    'SYNCLINE_SERVER_PUBLIC_URL',
    'https://a@evil.example',
    /SYNCLINE_SERVER_PUBLIC_URL must be a URL such as.*, got /,
  ),
  variable('SYNCLINE_SERVER_PUBLIC_URL', 'javascript:alert(1)', /must be a URL such as/),
  variable('SYNCLINE_SERVER_RETURN_ORIGINS', 'https://a.example/path', /must be a list of origins/),
  variable('SYNCLINE_SERVER_RETURN_ORIGINS', '*', /must be a list of origins/),
  variable('SYNCLINE_SERVER_HOSTS', Array(101).fill('a').join(','), /must be a list of host names/),
  variable(
    'SYNCLINE_RATELIMIT_GITHUB_BASE_SECONDS',
    '1e2',
    /SYNCLINE_RATELIMIT_GITHUB_BASE_SECONDS must be .*, got 1e2/,
  ),
  {
    name: 'values on the prototype of a section are ignored',
    options: { scheduler: Object.create({ tickIntervalSeconds: 10 }) },
    config: { scheduler: { tickIntervalSeconds: 60 } },
  },
  {
    name: 'limits of a provider named constructor do not change the defaults',
    options: { rateLimit: { providers: { constructor: { baseSeconds: 7 } } } },
    env: { SYNCLINE_RATELIMIT_CONSTRUCTOR_MAX_SECONDS: '70' },
    config: { rateLimit: { baseSeconds: 5, providers: { constructor: { baseSeconds: 7, maxSeconds: 70 } } } },
  },
  {
    name: 'blank variables count as absent',
    env: { [tickVariable]: ' \t\r\n ' },
    config: { scheduler: { tickIntervalSeconds: 60 } },
  },
];

/** `text` undefined: a folder. */
export interface ConfigFileCase {
  name: string;
  file: string;
  text: string | Buffer | undefined;
  refused?: RegExp;
  options?: unknown;
}

const broken = (name: string, text: string | Buffer, refused: RegExp): ConfigFileCase => ({
  name,
  file: 'syncline.config.mjs',
  text,
  refused,
});

export const configFileCases: readonly ConfigFileCase[] = [
  {
    name: 'a folder',
    file: 'syncline.config.ts',
    text: undefined,
    refused: /syncline\.config\.ts could not be loaded/,
  },
  broken('a syntax error', 'export default {', /syncline\.config\.mjs could not be loaded: /),
  broken('binary data', Buffer.from([0, 1, 2, 255]), /syncline\.config\.mjs could not be loaded: /),
  broken('a module that throws undefined', 'throw undefined', /could not be loaded: undefined/),
  broken('a module that throws null', 'throw null', /could not be loaded: null/),
  broken(
    'a module that throws a revoked proxy',
    'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy;',
    /could not be loaded: an error that cannot be read/,
  ),
  broken(
    'a module with a missing import',
    `import './nowhere.mjs'; export default {}`,
    /could not be loaded: .*nowhere/,
  ),
  broken(
    'a module that throws an error of several lines',
    `throw new Error('one\\ntwo\\n\\u001b[31mthree')`,
    /could not be loaded: one two .*three/,
  ),
  { name: 'an empty file', file: 'syncline.config.mjs', text: '', options: {} },
  broken(
    'text as default export',
    `export default 'postgres://u:s3cret@h/d'`,
    /^(?!.*s3cret)The configuration \(syncline\.config\.mjs\) must be an object, got string/,
  ),
  broken('a function as default export', 'export default () => ({})', /must be an object, got function/),
  broken('a list as default export', 'export default []', /must be an object, got a list/),
  broken(
    'an unknown section',
    'export default { schedular: {} }',
    /^Unknown option schedular in syncline\.config\.mjs\. Did you mean scheduler\?/,
  ),
  {
    name: 'a byte order mark',
    file: 'syncline.config.mjs',
    text: '\ufeffexport default { scheduler: { batchSize: 5 } }',
    options: { scheduler: { batchSize: 5 } },
  },
  {
    name: 'a comment of 5 MB',
    file: 'syncline.config.mjs',
    text: `/*${'x'.repeat(5_000_000)}*/ export default { scheduler: { batchSize: 5 } }`,
    options: { scheduler: { batchSize: 5 } },
  },
];

export const connectorListCases: readonly { name: string; connectors: unknown; refused: RegExp }[] = [
  { name: 'an object', connectors: {}, refused: /^connectors must be an array of connectors, got object\./ },
  { name: 'a sparse list', connectors: Array(1), refused: /^connectors\[0\]\.provider must be/ },
  { name: 'null', connectors: [null], refused: /^connectors\[0\]\.provider must be/ },
  {
    name: 'a blank provider',
    connectors: [{ provider: ' \n', sync: () => {} }],
    refused: /^connectors\[0\]\.provider must be/,
  },
  {
    name: 'a provider with NUL',
    connectors: [{ provider: 'a\0b', sync: () => {} }],
    refused: /^connectors\[0\]\.provider must be/,
  },
  {
    name: 'a provider with a lone surrogate',
    connectors: [{ provider: 'a\ud800', sync: () => {} }],
    refused: /^connectors\[0\]\.provider must be/,
  },
  {
    name: 'a sync that is not a function',
    connectors: [{ provider: 'a', sync: 'x' }],
    refused: /^connectors\[0\]\.sync must be a function, .* got "x"\./,
  },
  {
    name: 'two connectors for one provider',
    connectors: [
      { provider: 'a', sync: () => {} },
      { provider: 'a', sync: () => {} },
    ],
    refused: /Provider "a" has two connectors/,
  },
];
