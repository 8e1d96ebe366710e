import { z } from 'zod';
import type { Signal, SyncContext, SyncResult } from '../../connector-kit/index.ts';
import { connectorErrorKind, describeError } from '../../contract/errors.ts';
import { type Message, nextCursorOf, type Page, signalOf } from './messages.ts';
import { ThreadGone } from './refusals.ts';
import { earlier, isLater, latestOf, timestamp } from './timestamps.ts';

/** Of one channel. */
export const channelCursor = z.object({
  /** The newest message of all walks that came to their end. */
  watermark: timestamp.optional(),
  /** Replies that were there by then have been read. */
  repliesUntil: timestamp.optional(),
  /** Threads that were busy just then, as they were: they need not be read again as long as they are the same. */
  recent: z.record(timestamp, z.string()).optional(),
  walk: z
    .object({
      /** The next page; absent when the history has been read to its end, and only threads are left. */
      page: z.string().min(1).optional(),
      newest: timestamp.optional(),
      /** A moment at which the walk had not begun yet, by Slack's own clock. */
      startedAt: timestamp.optional(),
      /** Threads of the last page that have to be read before the next one. */
      threads: z.array(timestamp),
      recent: z.record(timestamp, z.string()).optional(),
      threadPage: z.string().min(1).optional(),
    })
    .optional(),
  /** How often this walk had to be started again. */
  restarts: z.number().int().optional(),
});
export type ChannelCursor = z.output<typeof channelCursor>;
type Walk = NonNullable<ChannelCursor['walk']>;

/** What is asked of a list of messages. */
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

/** Slack gives names to messages on many machines: one may appear a little after another that is newer. */
const lateSeconds = 60;
/** So that two hundred channels fit into a cursor; a thread that is left out is read once more. */
const maxRecent = 10;
/** Page cursors that expire again and again must not make a run go round for ever. */
const maxRestarts = 3;

type Result = SyncResult<ChannelCursor>;

/** Reads the next page of a channel, or of one of its threads. */
export async function readChannel(
  channel: string,
  cursor: ChannelCursor,
  reader: ChannelReader,
  { threads, lookbackSeconds }: ChannelChoice,
  log: SyncContext['log'],
): Promise<Result> {
  const { watermark, repliesUntil, walk } = cursor;
  try {
    // Somebody may have switched threads off because they cannot be read.
    const thread = threads ? walk?.threads[0] : undefined;
    return walk && thread !== undefined ? await readThread(walk, thread) : await readHistory();
  } catch (error) {
    if (connectorErrorKind(error) !== 'cursor_expired') throw error;
    return restarted(error);
  }

  async function readHistory(): Promise<Result> {
    const page = await reader.history({ oldest: earlier(watermark, lookbackSeconds), cursor: walk?.page });
    const times = page.messages.map(({ ts }) => ts);
    const busy = threads ? page.messages.filter(isBusy) : [];
    // Of the first page alone: a reply may come to a thread of an earlier page while a later one is read.
    const startedAt = walk ? walk.startedAt : latestOf([...times, ...page.messages.map(latestReplyOf)]);
    const states = Object.fromEntries(busy.map((parent) => [parent.ts, stateOf(parent)]));
    return goOn(page.messages, {
      page: nextCursorOf(page),
      // Over all pages, because nothing says that the first one holds the newest: with `oldest` alone Slack may go forward.
      newest: latestOf([walk?.newest, ...times]),
      startedAt,
      threads: busy.filter(({ ts }) => cursor.recent?.[ts] !== states[ts]).map(({ ts }) => ts),
      recent: recentOf({ ...walk?.recent, ...states }, latestOf([repliesUntil, startedAt])),
    });
  }

  /** Whether there may be replies that have not been read. */
  function isBusy({ ts, thread_ts, reply_count = 0, latest_reply }: Message): boolean {
    const isParent = reply_count > 0 && (thread_ts === undefined || thread_ts === ts);
    const since = earlier(repliesUntil, lateSeconds);
    return isParent && (latest_reply === undefined || isLater(latest_reply, since));
  }

  async function readThread(current: Walk, thread: string): Promise<Result> {
    const { threadPage, threads: left, ...rest } = current;
    const span = { oldest: earlier(repliesUntil, lookbackSeconds), cursor: threadPage };
    const page = await reader.replies(thread, span).catch((error: unknown) => {
      // One that was deleted meanwhile must not keep the channel from going on. Whatever else it is, the channel waits
      // for it: once the walk has ended, nobody would ask for these replies again.
      if (!(error instanceof ThreadGone)) throw error;
      log.warn(`The thread ${thread} of ${channel} is gone: ${describeError(error)}`);
    });
    const next = page && nextCursorOf(page);
    const replies = page?.messages.filter(({ ts }) => ts !== thread) ?? [];
    if (next !== undefined) return goOn(replies, { ...rest, threads: left, threadPage: next });
    return goOn(replies, { ...rest, threads: left.slice(1) });
  }

  function goOn(messages: readonly Message[], next: Walk): Result {
    const signals: Signal[] = messages.map((message) => signalOf(channel, message));
    if (next.page === undefined && next.threads.length === 0) return { signals, nextCursor: ended(next) };
    return { signals, nextCursor: { ...cursor, walk: next }, hasMore: true };
  }

  /** The watermark moves here and nowhere else, and never back, even if the newest message was deleted. */
  function ended({ newest, startedAt, recent }: Walk): ChannelCursor {
    const until = threads ? latestOf([repliesUntil, startedAt]) : repliesUntil;
    return standing(latestOf([watermark, newest]), until, recent);
  }

  function restarted(error: unknown): Result {
    const restarts = (cursor.restarts ?? 0) + 1;
    const start = standing(watermark, repliesUntil, cursor.recent);
    if (restarts > maxRestarts) {
      log.warn(`${channel}: page cursors expired ${restarts} times in one walk; the next run tries again.`);
      return { signals: [], nextCursor: start };
    }
    log.info(`${channel}: the walk starts again: ${describeError(error)}`);
    return { signals: [], nextCursor: { ...start, restarts }, hasMore: true };
  }
}

const latestReplyOf = ({ latest_reply }: Message) => latest_reply;

/** What changes when a reply comes or goes, also one that comes late. */
const stateOf = ({ latest_reply = '', reply_count = 0 }: Message) => `${latest_reply}/${reply_count}`;

/** The threads that the next walk would take for busy although nothing has happened. */
function recentOf(states: Record<string, string>, until: string | undefined): ChannelCursor['recent'] {
  const since = earlier(until, lateSeconds);
  const recent = Object.entries(states).filter(([, state]) => {
    const latest = timestamp.safeParse(state.split('/')[0]).data;
    return latest !== undefined && isLater(latest, since);
  });
  return recent.length === 0 ? undefined : Object.fromEntries(recent.slice(0, maxRecent));
}

/** A cursor between two walks. */
function standing(
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
