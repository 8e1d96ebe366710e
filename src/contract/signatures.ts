import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Delivery, Reaction, Webhook } from './webhook.ts';

type Verify = Webhook['verify'];

export interface HmacOptions {
  header: string;
  /** Default: sha256. */
  algorithm?: 'sha1' | 'sha256' | 'sha384' | 'sha512' | undefined;
  /** Default: hex. */
  encoding?: 'hex' | 'base64' | 'base64url' | undefined;
  /** Such as `sha256=`. */
  prefix?: string | undefined;
  /** Seconds since 1970. Signed only if `signed` includes it. */
  timestampHeader?: string | undefined;
  /** Between timestamp and now; default: 300. */
  toleranceSeconds?: number | undefined;
  /** Signed content; default: the body. */
  signed?: ((body: Buffer, timestamp: string) => Buffer | readonly (Buffer | string)[]) | undefined;
}

/** Allows sender queues; limits replay. */
const defaultToleranceSeconds = 300;

/** Verifies an HMAC of the body, as most providers send. */
export function hmacSignature(options: HmacOptions): Verify {
  const { algorithm = 'sha256', encoding = 'hex', prefix = '', timestampHeader, signed } = options;
  const toleranceMs = (options.toleranceSeconds ?? defaultToleranceSeconds) * 1000;
  const header = options.header.toLowerCase();
  return (delivery, secret, nowMs) => {
    // Forgeable by any sender.
    if (secret === '') return false;
    const timestamp = timestampHeader === undefined ? '' : headerOf(delivery, timestampHeader.toLowerCase());
    if (timestamp === undefined) return false;
    if (timestampHeader !== undefined && !isNear(timestamp, nowMs, toleranceMs)) return false;
    const hmac = createHmac(algorithm, secret);
    const parts = signed ? signed(delivery.body, timestamp) : delivery.body;
    for (const part of Buffer.isBuffer(parts) ? [parts] : parts) hmac.update(part);
    return isSame(headerOf(delivery, header), `${prefix}${hmac.digest(encoding)}`);
  };
}

/** GitHub's X-Hub-Signature-256. */
export const githubSignature = (): Verify =>
  hmacSignature({ header: 'x-hub-signature-256', prefix: 'sha256=' });

/** Slack's, over version, timestamp and body. */
export const slackSignature = (): Verify =>
  hmacSignature({
    header: 'x-slack-signature',
    prefix: 'v0=',
    timestampHeader: 'x-slack-request-timestamp',
    signed: (body, timestamp) => [`v0:${timestamp}:`, body],
  });

/** A ping (webhook created) needs no sync. */
export function githubReaction({ headers }: Delivery): Reaction<never> {
  return headers['x-github-event'] === 'ping' ? { sync: false } : {};
}

/** Echoes the challenge of URL verification. */
export function slackReaction({ body }: Delivery): Reaction<never> {
  const { type, challenge } = jsonObject(body);
  return type === 'url_verification' && typeof challenge === 'string'
    ? { sync: false, reply: { challenge } }
    : {};
}

function headerOf({ headers }: Delivery, name: string): string | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

function isNear(timestamp: string, nowMs: number, toleranceMs: number): boolean {
  return /^\d{1,15}$/.test(timestamp) && Math.abs(Number(timestamp) * 1000 - nowMs) <= toleranceMs;
}

/** Constant time; the length is not secret. */
function isSame(actual: string | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(actual ?? ''), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function jsonObject(body: Buffer): Record<string, unknown> {
  try {
    const value = JSON.parse(body.toString()) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
