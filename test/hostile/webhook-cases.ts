import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { asGithub, asSlack } from '../webhooks/webhook-connector.ts';

export interface WebhookWorld {
  github: string;
  slack: string;
  /** Of the same tenant, with another secret. */
  other: string;
  /** Of another tenant, with an unknown secret. */
  foreign: string;
  secret: string;
  otherSecret: string;
  slackSecret: string;
  nowMs: number;
}

interface WebhookDelivery {
  to: 'github' | 'slack' | 'other' | 'foreign';
  /** Overrides the path of the connection. */
  path?: string;
  body: string | Buffer;
  headers: Record<string, string>;
}

/** A rejected delivery changes nothing; an accepted one triggers a sync, unless `quiet`. */
export interface WebhookCase {
  name: string;
  deliver: (world: WebhookWorld) => WebhookDelivery;
  status: 200 | 202 | 401 | 413;
  quiet?: true;
  response?: RegExp;
}

const body = JSON.stringify({ action: 'opened', number: 7 });
const hex = (secret: string, text: string | Buffer, algorithm = 'sha256') =>
  createHmac(algorithm, secret).update(text).digest('hex');

const signedWith = (
  name: string,
  signature: (world: WebhookWorld) => string | undefined,
  status: WebhookCase['status'] = 401,
): WebhookCase => ({
  name,
  status,
  deliver: (world) => {
    const header = signature(world);
    return {
      to: 'github',
      body,
      headers: { 'x-github-event': 'push', ...(header !== undefined && { 'x-hub-signature-256': header }) },
    };
  },
});

const validlySigned = (
  name: string,
  sent: string | Buffer,
  headers: Record<string, string> = {},
): WebhookCase => ({
  name,
  status: 202,
  deliver: ({ secret }) => ({ to: 'github', body: sent, headers: { ...asGithub(secret, sent), ...headers } }),
});

/** A Slack delivery with this timestamp, validly signed. */
const sentAt = (name: string, at: (nowSeconds: number) => string): WebhookCase => ({
  name: `a Slack timestamp that is ${name}`,
  status: 401,
  deliver: ({ slackSecret, nowMs }) => {
    const seconds = at(Math.floor(nowMs / 1000));
    return {
      to: 'slack',
      body,
      headers: {
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': `v0=${hex(slackSecret, `v0:${seconds}:${body}`)}`,
      },
    };
  },
});

const toSlack = (
  name: string,
  sent: string,
  expected: Partial<Pick<WebhookCase, 'status' | 'response' | 'quiet'>> = {},
): WebhookCase => ({
  name: `a Slack body that is ${name}`,
  status: 202,
  ...expected,
  deliver: ({ slackSecret, nowMs }) => ({
    to: 'slack',
    body: sent,
    headers: asSlack(slackSecret, sent, nowMs),
  }),
});

/** A delivery signed for the GitHub connection but sent to another target. */
const misdirected = (
  name: string,
  to: WebhookDelivery['to'],
  path?: (world: WebhookWorld) => string,
): WebhookCase => ({
  name,
  status: 401,
  deliver: (world) => ({
    to,
    ...(path && { path: path(world) }),
    body,
    headers: asGithub(world.secret, body),
  }),
});

export const webhookCases: readonly WebhookCase[] = [
  signedWith('no signature', () => undefined),
  signedWith('an empty signature', () => ''),
  signedWith('only the prefix', () => 'sha256='),
  signedWith('a signature without its prefix', ({ secret }) => hex(secret, body)),
  signedWith('a SHA-1 signature', ({ secret }) => `sha1=${hex(secret, body, 'sha1')}`),
  signedWith('a SHA-1 signature labelled SHA-256', ({ secret }) => `sha256=${hex(secret, body, 'sha1')}`),
  signedWith('a signature in uppercase', ({ secret }) => `sha256=${hex(secret, body).toUpperCase()}`),
  signedWith(
    'a signature in base64',
    ({ secret }) => `sha256=${Buffer.from(hex(secret, body), 'hex').toString('base64')}`,
  ),
  signedWith('a truncated signature', ({ secret }) => `sha256=${hex(secret, body).slice(0, -1)}`),
  signedWith('a signature with an extra digit', ({ secret }) => `sha256=${hex(secret, body)}0`),
  signedWith(
    'the same signature twice',
    ({ secret }) => `sha256=${hex(secret, body)}, sha256=${hex(secret, body)}`,
  ),
  signedWith('the signature of another body', ({ secret }) => `sha256=${hex(secret, `${body} `)}`),
  signedWith(
    'the signature of the body in UTF-16',
    ({ secret }) => `sha256=${hex(secret, Buffer.from(body, 'utf16le'))}`,
  ),
  signedWith('the signature of an empty body', ({ secret }) => `sha256=${hex(secret, '')}`),
  signedWith('the signature of another secret', ({ otherSecret }) => `sha256=${hex(otherSecret, body)}`),
  signedWith('the signature of an empty secret', () => `sha256=${hex('', body)}`),
  signedWith('the secret itself', ({ secret }) => secret),
  signedWith('64 zeros', () => `sha256=${'0'.repeat(64)}`),
  signedWith('__proto__ as signature', () => '__proto__'),
  signedWith('a signature of 10 kB', () => `sha256=${'a'.repeat(10_000)}`),
  misdirected('a delivery signed for another connection', 'other'),
  misdirected('a delivery signed for a connection of another tenant', 'foreign'),
  misdirected(
    'an unknown connection',
    'github',
    () => '/v1/webhooks/github/00000000-0000-4000-8000-00000000dead',
  ),
  misdirected('an invalid connection ID', 'github', () => '/v1/webhooks/github/__proto__'),
  misdirected(
    'a connection ID with SQL',
    'github',
    () => `/v1/webhooks/github/${encodeURIComponent(`' OR 1=1 --`)}`,
  ),
  misdirected(
    'the right connection at another provider',
    'github',
    ({ github }) => `/v1/webhooks/slack/${github}`,
  ),
  misdirected('a provider named constructor', 'github', ({ github }) => `/v1/webhooks/constructor/${github}`),
  misdirected('an unknown provider', 'github', ({ github }) => `/v1/webhooks/unknown/${github}`),
  sentAt('six minutes ago', (now) => String(now - 360)),
  sentAt('six minutes from now', (now) => String(now + 360)),
  sentAt('0', () => '0'),
  sentAt('negative', () => '-1'),
  sentAt('in the year 275761', () => '8640000000001'),
  sentAt('40 digits long', () => '9'.repeat(40)),
  sentAt('written with an exponent', (now) => `${now / 1e9}e9`),
  sentAt('in milliseconds', (now) => `${now}000`),
  sentAt('a fraction', (now) => `${now}.0`),
  sentAt('hexadecimal', (now) => `0x${now.toString(16)}`),
  sentAt('NaN', () => 'NaN'),
  sentAt('empty', () => ''),
  {
    name: 'a Slack timestamp that was not signed',
    status: 401,
    deliver: ({ slackSecret, nowMs }) => ({
      to: 'slack',
      body,
      headers: {
        ...asSlack(slackSecret, body, nowMs - 60_000),
        'x-slack-request-timestamp': String(Math.floor(nowMs / 1000)),
      },
    }),
  },
  validlySigned('an empty body', ''),
  validlySigned('a body that is not JSON', 'payload=%7B%7D'),
  validlySigned('a body that is not valid UTF-8', Buffer.from([0, 255, 254, 192, 175, 13, 10])),
  validlySigned('a compressed body, signed as sent', gzipSync(body), { 'content-encoding': 'gzip' }),
  validlySigned('a gzip bomb, which is not unpacked', gzipSync(Buffer.alloc(20_000_000)), {
    'content-encoding': 'gzip',
  }),
  validlySigned('a list', '[]'),
  validlySigned('JSON nested 100,000 levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  validlySigned(
    'a body with __proto__',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  ),
  validlySigned('headers named like Object properties', body, { constructor: 'x', __proto__: 'y' }),
  toSlack('null', 'null'),
  toSlack('a list', '[{"type":"url_verification","challenge":"x"}]'),
  toSlack('a number beyond a double', '{"type":1e400}'),
  toSlack('a challenge that is not text', '{"type":"url_verification","challenge":{"a":1}}'),
  toSlack(
    'a challenge inside __proto__',
    '{"__proto__":{"type":"url_verification","challenge":"inherited"}}',
  ),
  toSlack('a challenge with HTML', '{"type":"url_verification","challenge":"<script>alert(1)</script>"}', {
    status: 200,
    quiet: true,
    response: /^\{"challenge":"<script>alert\(1\)<\/script>"\}$/,
  }),
  toSlack(
    'a challenge with NUL and a lone surrogate',
    '{"type":"url_verification","challenge":"\\u0000\\ud800"}',
    {
      status: 200,
      quiet: true,
      response: /^\{"challenge":"\\u0000\\ud800"\}$/,
    },
  ),
  {
    name: 'a body with a Content-Length over the limit',
    status: 413,
    deliver: ({ secret }) => ({
      to: 'github',
      body,
      headers: {
        ...asGithub(secret, body),
        'content-length': String(25 * 1024 * 1024 + 1),
        connection: 'close',
      },
    }),
  },
];
