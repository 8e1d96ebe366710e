import { createHash, timingSafeEqual } from 'node:crypto';
import type { Webhook } from '../../connector-kit/index.ts';

/** Not signed: Google echoes the channel token. */
export const channelWebhook: Webhook<never> = {
  verify: ({ headers }, secret) => secret !== '' && isEqual(headers['x-goog-channel-token'] ?? '', secret),
  // `sync` only confirms the channel.
  react: ({ headers }) => ({ sync: headers['x-goog-resource-state'] !== 'sync' }),
};

/** Hashes: timing reveals neither content nor length. */
function isEqual(received: string, expected: string): boolean {
  const [a, b] = [received, expected].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
