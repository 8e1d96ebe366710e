import { z } from 'zod';
import { type Reaction, slackSignature, type Webhook } from '../../connector-kit/index.ts';
import { deletedSignal, messageSchema, type SlackSignal, signalOf } from './messages.ts';
import { timestamp } from './timestamps.ts';

const deliverySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('url_verification'), challenge: z.string() }),
  z.object({ type: z.literal('event_callback'), event: z.looseObject({ type: z.string() }) }),
  /** Deliveries were suspended: poll for missed events. */
  z.object({ type: z.literal('app_rate_limited') }),
]);

const changedSchema = z.object({ message: messageSchema });
const deletedSchema = z.object({
  deleted_ts: timestamp,
  event_ts: timestamp.optional(),
  previous_message: z.unknown().optional(),
});

/** The same keys as polling. */
export function slackWebhook(signingSecret: string | undefined, hints: boolean): Webhook<SlackSignal> {
  return {
    ...(signingSecret !== undefined && { secret: signingSecret }),
    verify: slackSignature(),
    react: ({ body }, { config }) => reactionTo(body, channelsOf(config), hints),
  };
}

function reactionTo(body: Buffer, channels: readonly string[], hints: boolean): Reaction<SlackSignal> {
  const delivery = deliverySchema.safeParse(jsonOf(body)).data;
  if (delivery?.type === 'url_verification') return { sync: false, reply: { challenge: delivery.challenge } };
  if (delivery?.type === 'app_rate_limited') return { sync: true };
  const event = delivery?.event;
  const channel = event?.['channel'];
  if (event?.type !== 'message' || typeof channel !== 'string' || !channels.includes(channel))
    return { sync: false };
  const signal = signalOfEvent(channel, event);
  // Unparsable here; polling may succeed.
  return signal ? { sync: hints, signals: [signal] } : { sync: true };
}

function signalOfEvent(channel: string, event: Record<string, unknown>): SlackSignal | undefined {
  switch (event['subtype']) {
    case 'message_deleted': {
      const deleted = deletedSchema.safeParse(event).data;
      if (!deleted) return undefined;
      const { deleted_ts: ts, event_ts: at = ts, previous_message: last = null } = deleted;
      return deletedSignal(channel, ts, at, last);
    }
    case 'message_changed':
    case 'message_replied': {
      const changed = changedSchema.safeParse(event).data;
      return changed && signalOf(channel, changed.message);
    }
    default: {
      // Polling does not return them.
      const { channel: _channel, channel_type: _type, event_ts: _at, ...message } = event;
      const posted = messageSchema.safeParse(message).data;
      return posted && signalOf(channel, posted);
    }
  }
}

function channelsOf(config: unknown): readonly string[] {
  return z.object({ channels: z.array(z.string()) }).safeParse(config).data?.channels ?? [];
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
