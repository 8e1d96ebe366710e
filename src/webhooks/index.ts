export { createReceiver, type Receive } from './receive.ts';
export { type ConnectionWebhook, createWebhooks } from './webhooks.ts';
