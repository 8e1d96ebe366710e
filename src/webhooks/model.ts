import { z } from 'zod';
import type { LockedConnection } from '../store/connections.ts';
import type { WebhookRow } from '../store/webhooks.ts';
import { jsonOf, maybeTime, uuid } from '../values/model.ts';

const webhook = z
  .object({
    connectionId: uuid,
    path: z.string().meta({ description: 'Path of the webhook, to append to the URL of the service.' }),
    exists: z.boolean().meta({ description: 'Whether the connection has its own secret.' }),
    createdAt: maybeTime,
    lastReceivedAt: maybeTime.meta({
      description: 'Last delivery with a valid signature. Accurate to one minute.',
    }),
  })
  .meta({ id: 'ConnectionWebhook' });
/** The webhook of a connection, without its secret. */
export interface ConnectionWebhook extends z.output<typeof webhook> {}

const newWebhook = webhook
  .extend({
    secret: z.string().meta({ description: 'The signing secret for the provider, returned only once.' }),
  })
  .meta({ id: 'NewConnectionWebhook', base: webhook });
/** A created webhook. Store its secret: it is returned only here. */
export interface NewConnectionWebhook extends z.output<typeof newWebhook> {}

export const webhookJson = jsonOf(webhook);
export const newWebhookJson = jsonOf(newWebhook);

export const webhookFromRow = (
  connection: Pick<LockedConnection, 'id' | 'provider_slug'>,
  row: WebhookRow | undefined,
): ConnectionWebhook => ({
  connectionId: connection.id,
  path: `/v1/webhooks/${encodeURIComponent(connection.provider_slug)}/${connection.id}`,
  exists: row !== undefined,
  createdAt: row?.created_at,
  lastReceivedAt: row?.last_received_at ?? undefined,
});
