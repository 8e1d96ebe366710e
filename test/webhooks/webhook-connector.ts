import { createHmac } from 'node:crypto';
import type { Webhook } from '../../src/contract/webhook.ts';
import { type Connector, defineConnector, type SyncContext, type SyncResult } from '../../src/index.ts';
import type { Answer, Service } from '../http/service.ts';

export const credentials = { keys: [`main:${Buffer.alloc(32, 7).toString('base64')}`] };

export function hooked(
  webhook: Webhook,
  {
    provider = 'github',
    sync = () => ({ signals: [] }),
  }: { provider?: string; sync?: (context: SyncContext) => unknown } = {},
): Connector {
  return defineConnector({
    provider,
    name: provider,
    webhook,
    sync: async (context) => (await sync(context as SyncContext)) as SyncResult,
  });
}

const hmac = (secret: string, text: string | Buffer, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', secret).update(text).digest(encoding);

/** Signs as GitHub documents. */
export const asGithub = (secret: string, body: string | Buffer) => ({
  'x-hub-signature-256': `sha256=${hmac(secret, body)}`,
  'x-github-event': 'push',
  'content-type': 'application/json',
});

/** Signs as Slack documents. */
export const asSlack = (secret: string, body: string, atMs: number) => {
  const seconds = Math.floor(atMs / 1000);
  return {
    'x-slack-request-timestamp': String(seconds),
    'x-slack-signature': `v0=${hmac(secret, `v0:${seconds}:${body}`)}`,
    'content-type': 'application/json',
  };
};

/** Signs with a plain base64 HMAC. */
export const asShop = (secret: string, body: string) => ({ 'x-shop-hmac': hmac(secret, body, 'base64') });

export const pathOf = (connectionId: string, provider = 'github') =>
  `/v1/webhooks/${provider}/${connectionId}`;

/** Sends without an API key, as a provider does. */
export const deliver = (
  { call }: Pick<Service, 'call'>,
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string>,
): Promise<Answer> => call(path, { method: 'POST', key: undefined, body, headers });
