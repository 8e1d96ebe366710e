export { newWebhookJson, webhookJson } from './model.ts';
export { createReceiver, type Receive } from './receive.ts';
export { createWebhooks } from './webhooks.ts';
