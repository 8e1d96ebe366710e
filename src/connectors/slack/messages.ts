import { z } from 'zod';
import { type PayloadsOf, type SignalOf, typeOnly, versionKey } from '../../connector-kit/index.ts';
import { dateOf, timestamp } from './timestamps.ts';

/** Invalid fields except `ts` count as absent, so that one message cannot block a channel. */
export const messageSchema = z.looseObject({
  ts: timestamp,
  subtype: z.string().optional().catch(undefined),
  text: z.string().nullish().catch(undefined),
  thread_ts: timestamp.optional().catch(undefined),
  edited: z.looseObject({ ts: timestamp }).optional().catch(undefined),
  reply_count: z.number().optional().catch(undefined),
  latest_reply: timestamp.optional().catch(undefined),
});
export type Message = z.output<typeof messageSchema>;

const message = typeOnly<Message & { channel: string }>();
export const signalSchemas = {
  'message.posted': message,
  'message.replied': message,
  'message.edited': message,
  /** `last`: the message, if known. */
  'message.deleted': typeOnly<{ channel: string; ts: string; last: unknown }>(),
};
export type SlackPayloads = PayloadsOf<typeof signalSchemas>;
export type SlackSignal = SignalOf<SlackPayloads>;

export const pageSchema = z.object({
  ok: z.literal(true),
  messages: z.array(messageSchema).default([]),
  response_metadata: z.object({ next_cursor: z.string().optional() }).nullish(),
});
export type Page = z.output<typeof pageSchema>;

export const nextCursorOf = ({ response_metadata }: Page) => response_metadata?.next_cursor || undefined;

/**
 * Text and edit time only: reactions, replies and previews change messages too, and deliveries differ from
 * polling.
 */
export function signalOf(channel: string, message: Message): SlackSignal {
  const { ts, edited, text, subtype } = message;
  if (subtype === 'tombstone') return deletedSignal(channel, ts, ts, message);
  return {
    kind: kindOf(message),
    occurredAt: dateOf(edited?.ts ?? ts),
    payload: { channel, ...message },
    dedupeKey: versionKey(`${channel}/${ts}`, edited?.ts ?? ts, text ?? ''),
  };
}

export function deletedSignal(channel: string, ts: string, deletedAt: string, last: unknown): SlackSignal {
  return {
    kind: 'message.deleted',
    occurredAt: dateOf(deletedAt),
    payload: { channel, ts, last },
    dedupeKey: `${channel}/${ts}@deleted`,
  };
}

function kindOf({ ts, edited, thread_ts }: Message) {
  if (edited) return 'message.edited';
  return thread_ts !== undefined && thread_ts !== ts ? 'message.replied' : 'message.posted';
}
