import type { FeedSequence } from '../store/feed-sequence.ts';

export const describeRepair = ({ highest, lastAssigned }: FeedSequence) =>
  `Moved the feed sequence from ${lastAssigned} to ${highest}, the highest stored position: the database ` +
  'was restored or copied without its sequences.';
