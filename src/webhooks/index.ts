export {
  type ConnectionWebhook,
  type NewConnectionWebhook,
  newWebhookJson,
  webhookJson,
} from './model.ts';
export { createReceiver, type Receipt, type Receive } from './receive.ts';
export { createWebhooks, type WebhooksApi } from './webhooks.ts';
