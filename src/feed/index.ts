export { type Consumer, createConsumers } from './consumers.ts';
export { createFeed, type FeedSignal } from './feed.ts';
export { createFeedReader, type FeedReader } from './reader.ts';
export { createSignals, type SignalsFilter, type StoredSignal } from './signals.ts';
export { createFeedWatch, type FeedWatch } from './watch.ts';
