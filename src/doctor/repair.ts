import type { Logger } from 'pino';
import type { Database } from '../store/database.ts';
import { type FeedSequence, repairFeed } from '../store/feed-sequence.ts';

export const describeRepair = ({ highest, lastAssigned }: FeedSequence) =>
  `Moved the feed sequence from ${lastAssigned} to ${highest}, the highest stored position: the database ` +
  'was restored or copied without its sequences.';

export async function repairFeedAtStart(db: Database, log: Logger): Promise<void> {
  const repaired = await repairFeed(db);
  if (repaired) log.warn({ event: 'feed_repaired', ...repaired }, describeRepair(repaired));
}
