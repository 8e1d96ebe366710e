import { createHmac } from 'node:crypto';
import { type ProviderRequest, type Reply, startLocalServer } from './local-server.ts';

export interface StoredMessage {
  type: 'message';
  ts: string;
  user: string;
  text: string;
  subtype?: string;
  thread_ts?: string;
  edited?: { user: string; ts: string };
}

interface PageToken {
  query: string;
  after: string;
}

const parameters: Record<string, string[]> = {
  'conversations.history': ['channel', 'cursor', 'inclusive', 'latest', 'limit', 'oldest'],
  'conversations.replies': ['channel', 'ts', 'cursor', 'inclusive', 'latest', 'limit', 'oldest'],
};

/** An in-memory Slack API that is as strict as the documentation. */
export async function startSlack({ token = 'xoxb-token', maxObjects = 999 } = {}) {
  const channels = new Map<string, Map<string, StoredMessage>>();
  const parents = new Set<string>();
  const tokens = new Map<string, PageToken>();
  const requests: ProviderRequest[] = [];
  const refusals: Reply[] = [];
  let nowMicroseconds = 1_767_225_600_000_000n;
  let isRevoked = false;
  let oldestFirst = false;
  let alwaysExpires = false;
  let tokenCount = 0;

  const url = await startLocalServer((request) => {
    requests.push(request);
    const refused = refusals.shift();
    if (refused) return refused;
    if (isRevoked) return slackError('token_revoked');
    if (request.headers.authorization !== `Bearer ${token}`) return slackError('invalid_auth');
    return list(request);
  });

  function list({ path, query }: ProviderRequest): Reply {
    const method = path.slice(1);
    const allowed = parameters[method];
    if (!allowed) return slackError('unknown_method');
    const unknown = [...query.keys()].find((name) => !allowed.includes(name));
    if (unknown) return slackError(`invalid_arguments: ${unknown}`);
    const messages = channels.get(query.get('channel') ?? '');
    if (!messages) return slackError('channel_not_found');
    for (const name of ['oldest', 'latest', 'ts'])
      if (query.has(name) && !/^\d+\.\d{6}$/.test(query.get(name) ?? ''))
        return slackError(`invalid_ts_${name}`);
    const limit = Number(query.get('limit') ?? 100);
    if (!(limit >= 1 && limit <= 999)) return slackError('invalid_limit');
    const thread = method === 'conversations.replies' ? (query.get('ts') ?? '') : undefined;
    if (thread !== undefined && !messages.has(thread)) return slackError('thread_not_found');

    const isForward = thread !== undefined || (oldestFirst && query.has('oldest') && !query.has('latest'));
    const all = [...messages.values()]
      .filter((message) => (thread === undefined ? isTopLevel(message) : rootOf(message) === thread))
      .filter((message) => message.ts === thread || isWithin(message.ts, query))
      .sort((a, b) => (a.ts < b.ts === isForward ? -1 : 1));
    return page(all, messages, query, Math.min(limit, maxObjects), isForward);
  }

  function page(
    all: StoredMessage[],
    messages: Map<string, StoredMessage>,
    query: URLSearchParams,
    size: number,
    isForward: boolean,
  ): Reply {
    const cursor = query.get('cursor');
    const at = cursor === null ? undefined : tokens.get(cursor);
    const queryKey = JSON.stringify([...query].filter(([name]) => name !== 'cursor').sort());
    if (cursor !== null && (at?.query !== queryKey || alwaysExpires)) return slackError('invalid_cursor');
    const rest = all.filter(({ ts }) => !at || (isForward ? ts > at.after : ts < at.after));
    const chosen = rest.slice(0, size);
    const hasMore = rest.length > size;
    let next = '';
    if (hasMore) {
      next = `cursor-${++tokenCount}=`;
      tokens.set(next, { query: queryKey, after: chosen.at(-1)?.ts ?? '' });
    }
    const isThread = query.has('ts');
    return {
      body: {
        ok: true,
        // Pages may be oldest first; each page is newest first, except in threads.
        messages: (isForward && !isThread ? chosen.reverse() : chosen).map((message) =>
          parents.has(message.ts) ? shown(message, messages) : message,
        ),
        has_more: hasMore,
        ...((hasMore || !isThread) && { response_metadata: { next_cursor: next } }),
      },
    };
  }

  const channelOf = (channel: string) => {
    const messages = channels.get(channel) ?? new Map<string, StoredMessage>();
    channels.set(channel, messages);
    return messages;
  };

  const nextTs = () => {
    nowMicroseconds += 1_000_001n;
    const digits = String(nowMicroseconds);
    return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
  };

  return {
    url,
    requests,
    refuse: (...replies: Reply[]) => void refusals.push(...replies),
    revoke: () => {
      isRevoked = true;
    },
    /** With only `oldest`, pages start with the oldest message, as documented earlier. */
    goForward: () => {
      oldestFirst = true;
    },
    alwaysExpirePages: (yes: boolean) => {
      alwaysExpires = yes;
    },
    expirePages: () => tokens.clear(),
    pass: (seconds: number) => {
      nowMicroseconds += BigInt(seconds) * 1_000_000n;
    },
    open: (channel: string) => void channelOf(channel),
    post(channel: string, text: string, more: Partial<StoredMessage> = {}): StoredMessage {
      const message: StoredMessage = { type: 'message', user: 'U1', text, ts: nextTs(), ...more };
      channelOf(channel).set(message.ts, message);
      if (message.thread_ts !== undefined) parents.add(message.thread_ts);
      return message;
    },
    reply(
      channel: string,
      parent: StoredMessage,
      text: string,
      more: Partial<StoredMessage> = {},
    ): StoredMessage {
      return this.post(channel, text, { thread_ts: parent.ts, ...more });
    },
    edit(channel: string, { ts }: StoredMessage, text: string): StoredMessage {
      const before = channelOf(channel).get(ts) as StoredMessage;
      const after = { ...before, text, edited: { user: 'U1', ts: nextTs() } };
      channelOf(channel).set(ts, after);
      return after;
    },
    remove(channel: string, { ts }: StoredMessage): void {
      const messages = channelOf(channel);
      const hasReplies = [...messages.values()].some(
        (message) => message.ts !== ts && rootOf(message) === ts,
      );
      if (hasReplies)
        messages.set(ts, {
          type: 'message',
          ts,
          user: 'USLACKBOT',
          text: 'This message was deleted.',
          subtype: 'tombstone',
        });
      else messages.delete(ts);
    },
    truth: (channel: string) => [...channelOf(channel).values()],
    empty: () => {
      channels.clear();
      tokens.clear();
      requests.length = 0;
      nowMicroseconds = 1_767_225_600_000_000n;
    },
  };
}

const rootOf = ({ ts, thread_ts }: StoredMessage) => thread_ts ?? ts;
const isTopLevel = (message: StoredMessage) =>
  rootOf(message) === message.ts || message.subtype === 'thread_broadcast';

function isWithin(ts: string, query: URLSearchParams): boolean {
  const isInclusive = query.get('inclusive') === 'true';
  const [oldest, latest] = [query.get('oldest'), query.get('latest')];
  const isBoundary = ts === oldest || ts === latest;
  if (isBoundary) return isInclusive;
  return (oldest === null || ts > oldest) && (latest === null || ts < latest);
}

function shown(message: StoredMessage, messages: Map<string, StoredMessage>) {
  if (rootOf(message) !== message.ts) return message;
  const replies = [...messages.values()].filter(
    ({ ts, thread_ts }) => thread_ts === message.ts && ts !== message.ts,
  );
  if (replies.length === 0) return message;
  const latest = replies
    .map(({ ts }) => ts)
    .sort()
    .at(-1);
  return { ...message, thread_ts: message.ts, reply_count: replies.length, latest_reply: latest };
}

export const slackError = (error: string): Reply => ({ body: { ok: false, error } });

export function delivered(body: unknown, secret: string, atMs: number) {
  const text = Buffer.from(JSON.stringify(body));
  const time = String(Math.floor(atMs / 1000));
  const signature = createHmac('sha256', secret).update(`v0:${time}:${text}`).digest('hex');
  return {
    method: 'POST',
    headers: { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` },
    body: text,
  };
}
