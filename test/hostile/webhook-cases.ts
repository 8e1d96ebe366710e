import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { asGithub, asSlack } from '../webhooks/hooked.ts';

/** Whom it is sent to, and what signs for them. */
export interface WebhookWorld {
  github: string;
  slack: string;
  /** Of the same tenant, with another secret. */
  other: string;
  /** Of another tenant, with a secret that nobody here knows. */
  foreign: string;
  secret: string;
  otherSecret: string;
  slackSecret: string;
  nowMs: number;
}

interface WebhookDelivery {
  to: 'github' | 'slack' | 'other' | 'foreign';
  /** Another path than the one that leads there. */
  path?: string;
  body: string | Buffer;
  headers: Record<string, string>;
}

/** A refused one changes nothing; one that is taken has its connection synced, unless `quiet`. */
export interface WebhookCase {
  name: string;
  deliver: (world: WebhookWorld) => WebhookDelivery;
  status: 200 | 202 | 401 | 413;
  quiet?: true;
  told?: RegExp;
}

const body = JSON.stringify({ action: 'opened', number: 7 });
const hex = (secret: string, text: string | Buffer, algorithm = 'sha256') =>
  createHmac(algorithm, secret).update(text).digest('hex');

/** To the connection at GitHub, with this in place of its signature. */
const signedWith = (
  name: string,
  signature: (world: WebhookWorld) => string | undefined,
  status: WebhookCase['status'] = 401,
): WebhookCase => ({
  name,
  status,
  deliver: (world) => {
    const given = signature(world);
    return {
      to: 'github',
      body,
      headers: { 'x-github-event': 'push', ...(given !== undefined && { 'x-hub-signature-256': given }) },
    };
  },
});

/** Signed as GitHub does, whatever it is. */
const rightly = (name: string, sent: string | Buffer, headers: Record<string, string> = {}): WebhookCase => ({
  name,
  status: 202,
  deliver: ({ secret }) => ({ to: 'github', body: sent, headers: { ...asGithub(secret, sent), ...headers } }),
});

/** Signed as Slack does, with the seconds that it is said to have been sent at. */
const sentAt = (name: string, at: (nowSeconds: number) => string): WebhookCase => ({
  name: `a delivery of ${name}`,
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

/** Signed as Slack does, now. */
const toSlack = (
  name: string,
  sent: string,
  expected: Partial<Pick<WebhookCase, 'status' | 'told' | 'quiet'>> = {},
): WebhookCase => ({
  name: `Slack says ${name}`,
  status: 202,
  ...expected,
  deliver: ({ slackSecret, nowMs }) => ({
    to: 'slack',
    body: sent,
    headers: asSlack(slackSecret, sent, nowMs),
  }),
});

/** What is sent to an address that is not its own, rightly signed for the connection at GitHub. */
const misled = (
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
  signedWith('the prefix alone', () => 'sha256='),
  signedWith('a signature without its prefix', ({ secret }) => hex(secret, body)),
  signedWith('a signature by SHA-1', ({ secret }) => `sha1=${hex(secret, body, 'sha1')}`),
  signedWith('SHA-1 that is called SHA-256', ({ secret }) => `sha256=${hex(secret, body, 'sha1')}`),
  signedWith('a signature in capitals', ({ secret }) => `sha256=${hex(secret, body).toUpperCase()}`),
  signedWith(
    'a signature in base64',
    ({ secret }) => `sha256=${Buffer.from(hex(secret, body), 'hex').toString('base64')}`,
  ),
  signedWith('a signature cut short', ({ secret }) => `sha256=${hex(secret, body).slice(0, -1)}`),
  signedWith('a signature with more behind it', ({ secret }) => `sha256=${hex(secret, body)}0`),
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
  signedWith("the signature of another's secret", ({ otherSecret }) => `sha256=${hex(otherSecret, body)}`),
  signedWith('the signature of an empty secret', () => `sha256=${hex('', body)}`),
  signedWith('the secret itself', ({ secret }) => secret),
  signedWith('sixty-four zeros', () => `sha256=${'0'.repeat(64)}`),
  signedWith('the name of a prototype', () => '__proto__'),
  signedWith('ten kilobytes', () => `sha256=${'a'.repeat(10_000)}`),
  misled('what is signed for another connection', 'other'),
  misled("what is signed for another tenant's connection", 'foreign'),
  misled(
    'a connection that there is not',
    'github',
    () => '/v1/webhooks/github/00000000-0000-4000-8000-00000000dead',
  ),
  misled('a connection whose id is none', 'github', () => '/v1/webhooks/github/__proto__'),
  misled(
    'a connection whose id is SQL',
    'github',
    () => `/v1/webhooks/github/${encodeURIComponent(`' OR 1=1 --`)}`,
  ),
  misled(
    'the right connection at another provider',
    'github',
    ({ github }) => `/v1/webhooks/slack/${github}`,
  ),
  misled('a provider that every object has', 'github', ({ github }) => `/v1/webhooks/constructor/${github}`),
  misled('a provider that there is not', 'github', ({ github }) => `/v1/webhooks/nobody/${github}`),
  sentAt('six minutes ago', (now) => String(now - 360)),
  sentAt('six minutes from now', (now) => String(now + 360)),
  sentAt('the beginning of time', () => '0'),
  sentAt('before it', () => '-1'),
  sentAt('the year 275761', () => '8640000000001'),
  sentAt('a time beyond all numbers', () => '9'.repeat(40)),
  sentAt('a time with an exponent', (now) => `${now / 1e9}e9`),
  sentAt('a time in milliseconds', (now) => `${now}000`),
  sentAt('a time with a fraction', (now) => `${now}.0`),
  sentAt('a time in hexadecimal', (now) => `0x${now.toString(16)}`),
  sentAt('a time that is none', () => 'NaN'),
  sentAt('no time', () => ''),
  {
    name: 'a time that was not signed',
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
  rightly('an empty body', ''),
  rightly('a body that is no JSON', 'payload=%7B%7D'),
  rightly('bytes that are no text', Buffer.from([0, 255, 254, 192, 175, 13, 10])),
  rightly('compressed bytes, signed as they came', gzipSync(body), { 'content-encoding': 'gzip' }),
  rightly('a bomb, which nobody unpacks', gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' }),
  rightly('a list', '[]'),
  rightly('JSON nested 100,000 levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  rightly('a prototype', '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  rightly('headers that every object has', body, { constructor: 'x', __proto__: 'y' }),
  toSlack('null', 'null'),
  toSlack('a list', '[{"type":"url_verification","challenge":"x"}]'),
  toSlack('a number beyond a double', '{"type":1e400}'),
  toSlack('a challenge that is no text', '{"type":"url_verification","challenge":{"a":1}}'),
  toSlack('a challenge in a prototype', '{"__proto__":{"type":"url_verification","challenge":"inherited"}}'),
  toSlack(
    'a challenge that wants to be HTML',
    '{"type":"url_verification","challenge":"<script>alert(1)</script>"}',
    {
      status: 200,
      quiet: true,
      told: /^\{"challenge":"<script>alert\(1\)<\/script>"\}$/,
    },
  ),
  toSlack('a challenge of NUL and half a pair', '{"type":"url_verification","challenge":"\\u0000\\ud800"}', {
    status: 200,
    quiet: true,
    told: /^\{"challenge":"\\u0000\\ud800"\}$/,
  }),
  {
    name: 'a body that is said to be over the bound',
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
