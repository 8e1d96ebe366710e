import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Delivery, Reaction, Webhook } from '../contract/webhook.ts';

type Verify = Webhook['verify'];

export interface HmacOptions {
  /** The header that holds the signature. */
  header: string;
  /** sha256 unless given. */
  algorithm?: 'sha1' | 'sha256' | 'sha384' | 'sha512' | undefined;
  /** How the signature is written: hex unless given. */
  encoding?: 'hex' | 'base64' | 'base64url' | undefined;
  /** What stands before the signature, such as `sha256=`. */
  prefix?: string | undefined;
  /** The header that says when it was sent, in seconds since 1970. Only with `signed` is it part of what was signed. */
  timestampHeader?: string | undefined;
  /** How far that may be from now, in either direction: 300 unless given. */
  toleranceSeconds?: number | undefined;
  /** What was signed, of a body and the text of the timestamp's header: the body alone unless given. */
  signed?: ((body: Buffer, timestamp: string) => Buffer | readonly (Buffer | string)[]) | undefined;
}

/** Long enough for a queue at the sender, short enough that what was overheard is soon worth nothing. */
const defaultToleranceSeconds = 300;

/** Verifies an HMAC of the body that is keyed with the secret, as most providers sign. */
export function hmacSignature(options: HmacOptions): Verify {
  const { algorithm = 'sha256', encoding = 'hex', prefix = '', timestampHeader, signed } = options;
  const toleranceMs = (options.toleranceSeconds ?? defaultToleranceSeconds) * 1000;
  const header = options.header.toLowerCase();
  return (delivery, secret, nowMs) => {
    // Anybody can sign with nothing.
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

/** As GitHub signs: X-Hub-Signature-256. */
export const githubSignature = (): Verify =>
  hmacSignature({ header: 'x-hub-signature-256', prefix: 'sha256=' });

/** As Slack signs: X-Slack-Signature, over version, time and body. */
export const slackSignature = (): Verify =>
  hmacSignature({
    header: 'x-slack-signature',
    prefix: 'v0=',
    timestampHeader: 'x-slack-request-timestamp',
    signed: (body, timestamp) => [`v0:${timestamp}:`, body],
  });

/** GitHub sends a ping when a webhook is made: there is nothing to sync yet. */
export function githubReaction({ headers }: Delivery): Reaction {
  return headers['x-github-event'] === 'ping' ? { sync: false } : {};
}

/** Slack asks whether somebody listens who knows the secret, by a challenge that is to be sent back. */
export function slackReaction({ body }: Delivery): Reaction {
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

/** In a time that says nothing about where they differ. The length of a signature is no secret. */
function isSame(given: string | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(expected)];
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
