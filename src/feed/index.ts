export { createConsumers } from './consumers.ts';
export { createFeed } from './feed.ts';
export {
  consumerJson,
  type FeedSignal,
  feedSignalJson,
  type StoredSignal,
  signalJson,
} from './model.ts';
export { createFeedReader, type FeedReader } from './reader.ts';
export { createSignals, type SignalsFilter } from './signals.ts';
export { createFeedWatch, type FeedWatch } from './watch.ts';
