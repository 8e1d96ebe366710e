import { z } from 'zod';
import type { SyncContext, SyncResult } from '../../connector-kit/index.ts';
import { connectorErrorKind, describeError } from '../../contract/errors.ts';
import { type Message, nextCursorOf, type Page, type SlackSignal, signalOf } from './messages.ts';
import { ThreadGone } from './refusals.ts';
import { earlier, isLater, latestOf, timestamp } from './timestamps.ts';

export const channelCursor = z.object({
  /** Newest message of all complete walks. */
  watermark: timestamp.optional(),
  /** Replies up to here are read. */
  repliesUntil: timestamp.optional(),
  /** Unchanged threads are not reread. */
  recent: z.record(timestamp, z.string()).optional(),
  walk: z
    .object({
      /** Absent when only threads remain. */
      page: z.string().min(1).optional(),
      newest: timestamp.optional(),
      /** Before the walk, by Slack's clock. */
      startedAt: timestamp.optional(),
      /** Of the last page, read before the next page. */
      threads: z.array(timestamp),
      recent: z.record(timestamp, z.string()).optional(),
      threadPage: z.string().min(1).optional(),
    })
    .optional(),
  restarts: z.number().int().optional(),
});
export type ChannelCursor = z.output<typeof channelCursor>;
type Walk = NonNullable<ChannelCursor['walk']>;

interface Span {
  oldest: string | undefined;
  cursor: string | undefined;
}

export interface ChannelReader {
  history(span: Span): Promise<Page>;
  replies(thread: string, span: Span): Promise<Page>;
}

export interface ChannelChoice {
  threads: boolean;
  lookbackSeconds: number;
}

/** Many machines assign timestamps: older messages may appear later. */
const lateSeconds = 60;
/** 200 channels must fit; omitted threads are reread once. */
const maxRecent = 10;
const maxRestarts = 3;

type Result = SyncResult<ChannelCursor, SlackSignal>;

export async function readChannel(
  channel: string,
  cursor: ChannelCursor,
  reader: ChannelReader,
  { threads, lookbackSeconds }: ChannelChoice,
  log: SyncContext['log'],
): Promise<Result> {
  const { watermark, repliesUntil, walk } = cursor;
  try {
    // `threads` may change during the walk.
    const thread = threads ? walk?.threads[0] : undefined;
    return walk && thread !== undefined ? await readThread(walk, thread) : await readHistory();
  } catch (error) {
    if (connectorErrorKind(error) !== 'cursor_expired') throw error;
    return restart(error);
  }

  async function readHistory(): Promise<Result> {
    const page = await reader.history({ oldest: earlier(watermark, lookbackSeconds), cursor: walk?.page });
    const times = page.messages.map(({ ts }) => ts);
    const busy = threads ? page.messages.filter(isBusy) : [];
    // First page only: threads may get replies meanwhile.
    const startedAt = walk ? walk.startedAt : latestOf([...times, ...page.messages.map(latestReplyOf)]);
    const states = Object.fromEntries(busy.map((parent) => [parent.ts, stateOf(parent)]));
    return continueWith(page.messages, {
      page: nextCursorOf(page),
      // All pages: with `oldest`, Slack may return the oldest first.
      newest: latestOf([walk?.newest, ...times]),
      startedAt,
      threads: busy.filter(({ ts }) => cursor.recent?.[ts] !== states[ts]).map(({ ts }) => ts),
      recent: recentOf({ ...walk?.recent, ...states }, latestOf([repliesUntil, startedAt])),
    });
  }

  function isBusy({ ts, thread_ts, reply_count = 0, latest_reply }: Message): boolean {
    const isParent = reply_count > 0 && (thread_ts === undefined || thread_ts === ts);
    const since = earlier(repliesUntil, lateSeconds);
    return isParent && (latest_reply === undefined || isLater(latest_reply, since));
  }

  async function readThread(current: Walk, thread: string): Promise<Result> {
    const { threadPage, threads: remaining, ...rest } = current;
    const span = { oldest: earlier(repliesUntil, lookbackSeconds), cursor: threadPage };
    const page = await reader.replies(thread, span).catch((error: unknown) => {
      // Other errors block the channel, or these replies would be lost.
      if (!(error instanceof ThreadGone)) throw error;
      log.warn(`Thread ${thread} of ${channel} no longer exists: ${describeError(error)}`);
    });
    const next = page && nextCursorOf(page);
    const replies = page?.messages.filter(({ ts }) => ts !== thread) ?? [];
    if (next !== undefined) return continueWith(replies, { ...rest, threads: remaining, threadPage: next });
    return continueWith(replies, { ...rest, threads: remaining.slice(1) });
  }

  function continueWith(messages: readonly Message[], next: Walk): Result {
    const signals: SlackSignal[] = messages.map((message) => signalOf(channel, message));
    if (next.page === undefined && next.threads.length === 0)
      return { signals, nextCursor: finishedCursor(next) };
    return { signals, nextCursor: { ...cursor, walk: next }, hasMore: true };
  }

  /** The watermark moves only here, and never back: the newest message may be deleted. */
  function finishedCursor({ newest, startedAt, recent }: Walk): ChannelCursor {
    const until = threads ? latestOf([repliesUntil, startedAt]) : repliesUntil;
    return idleCursor(latestOf([watermark, newest]), until, recent);
  }

  function restart(error: unknown): Result {
    const restarts = (cursor.restarts ?? 0) + 1;
    const start = idleCursor(watermark, repliesUntil, cursor.recent);
    if (restarts > maxRestarts) {
      log.warn(`${channel}: page cursors expired ${restarts} times in one walk; the next run retries.`);
      return { signals: [], nextCursor: start };
    }
    log.info(`${channel}: restarting the walk: ${describeError(error)}`);
    return { signals: [], nextCursor: { ...start, restarts }, hasMore: true };
  }
}

const latestReplyOf = ({ latest_reply }: Message) => latest_reply;

/** Changes with every reply, also late and removed ones. */
const stateOf = ({ latest_reply = '', reply_count = 0 }: Message) => `${latest_reply}/${reply_count}`;

/** The next walk would find these active again. */
function recentOf(states: Record<string, string>, until: string | undefined): ChannelCursor['recent'] {
  const since = earlier(until, lateSeconds);
  const recent = Object.entries(states).filter(([, state]) => {
    const latest = timestamp.safeParse(state.split('/')[0]).data;
    return latest !== undefined && isLater(latest, since);
  });
  return recent.length === 0 ? undefined : Object.fromEntries(recent.slice(0, maxRecent));
}

function idleCursor(
  watermark: string | undefined,
  repliesUntil: string | undefined,
  recent: ChannelCursor['recent'],
): ChannelCursor {
  return {
    ...(watermark !== undefined && { watermark }),
    ...(repliesUntil !== undefined && { repliesUntil }),
    ...(recent !== undefined && { recent }),
  };
}
