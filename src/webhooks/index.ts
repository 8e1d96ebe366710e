export { createDeliver, type DeliveriesApi, type Receipt } from './deliver.ts';
export {
  type ConnectionWebhook,
  type NewConnectionWebhook,
  newWebhookJson,
  webhookJson,
} from './model.ts';
export { createWebhooks, type WebhooksApi } from './webhooks.ts';
