import { createHash, timingSafeEqual } from 'node:crypto';
import type { Webhook } from '../../connector-kit/index.ts';

/**
 * Google signs nothing: it sends back the token that the channel was opened with. It says that something has changed, and
 * not what, so all that it can do is have the connection synced.
 */
export const channelWebhook: Webhook = {
  verify: ({ headers }, secret) => secret !== '' && isSame(headers['x-goog-channel-token'] ?? '', secret),
  // The first message of a channel says that it was opened, and nothing else.
  react: ({ headers }) => ({ sync: headers['x-goog-resource-state'] !== 'sync' }),
};

/** Hashed first, so that neither the time that it takes nor the length tells how much of a guess was right. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
