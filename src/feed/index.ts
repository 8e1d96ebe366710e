export type {
  ConsumersApi,
  FeedOptions,
  FeedPage,
  FeedRead,
  ListedSignals,
  PageReadWrapper,
  SignalsApi,
  SignalsFilter,
} from './api.ts';
export { createConsumers } from './consumers.ts';
export { createFeed } from './feed.ts';
export {
  type Consumer,
  consumerJson,
  type FeedSignal,
  feedSignalJson,
  type StoredSignal,
  signalJson,
} from './model.ts';
export { createFeedReader, type FeedReader } from './reader.ts';
export { createSignals } from './signals.ts';
export type { TypedSignal } from './typed-signal.ts';
export { createFeedWatch, type FeedWatch } from './watch.ts';
