import { type Asked, type Reply, startLocalServer } from './local-server.ts';

/** An event as the local Google Calendar keeps it. */
export interface StoredEvent {
  id: string;
  status: 'confirmed' | 'cancelled';
  summary: string;
  etag: string;
  created: string;
  updated: string;
  /** How many occurrences it has, if it recurs. */
  occurrences?: number;
}

interface Calendar {
  events: Map<string, StoredEvent & { revision: number }>;
  revision: number;
}

/** What a token stands for: it is good for the very same question only. */
interface Token {
  kind: 'page' | 'sync';
  calendar: string;
  /** All that was asked but the page token, which may not change over the pages of a walk. */
  asked: string;
  /** Changes after this revision are wanted; undefined for everything. */
  since: number | undefined;
  /** The revision that the walk began at, from which the next one has to go on. */
  startedAt: number;
  after: string;
}

const known = [
  'singleEvents',
  'maxResults',
  'syncToken',
  'pageToken',
  'showDeleted',
  'timeMin',
  'q',
  'orderBy',
];
/** As documented, not to be used together with a sync token. */
const notWithSyncToken = ['timeMin', 'q', 'orderBy'];

/** In memory, and as strict as the documentation. */
export async function startGoogleCalendar({ token = 'google-token' } = {}) {
  const calendars = new Map<string, Calendar>();
  const tokens = new Map<string, Token>();
  const asked: Asked[] = [];
  const refusals: Reply[] = [];
  let isRevoked = false;
  let sealed = 0;
  /** Keeps the sync token back, as Google does for some lists. */
  let withholds = false;
  let alwaysExpires = false;

  const url = await startLocalServer((request) => {
    asked.push(request);
    const refused = refusals.shift();
    if (refused) return refused;
    if (isRevoked || request.headers.authorization !== `Bearer ${token}`)
      return problem(401, 'authError', 'Invalid Credentials');
    return list(request);
  });

  function list({ path, query }: Asked): Reply {
    const id = decodeURIComponent(/^\/calendars\/([^/]+)\/events$/.exec(path)?.[1] ?? '');
    const calendar = calendars.get(id);
    if (!calendar) return problem(404, 'notFound', 'Not Found');
    const unknown = [...query.keys()].find((name) => !known.includes(name));
    if (unknown) return problem(400, 'badRequest', `Unknown name "${unknown}"`);
    const [pageToken, syncToken] = [query.get('pageToken'), query.get('syncToken')];
    if (syncToken !== null && notWithSyncToken.some((name) => query.has(name)))
      return problem(
        400,
        'syncTokenWithRequestRestrictions',
        'Sync token cannot be used with other restrictions.',
      );

    const shape = shapeOf(query);
    let since: number | undefined;
    if (syncToken !== null) {
      const from = tokens.get(syncToken);
      if (from?.kind !== 'sync' || from.calendar !== id)
        return problem(410, 'fullSyncRequired', 'Sync token is no longer valid, a full sync is required.');
      if (from.asked !== query.get('singleEvents'))
        return problem(400, 'badRequest', 'Other parameters than before.');
      since = from.startedAt;
    }
    let walk = { since, startedAt: calendar.revision, after: '' };
    if (pageToken !== null) {
      const at = tokens.get(pageToken);
      if (at?.kind !== 'page' || at.calendar !== id || at.asked !== shape || alwaysExpires)
        return problem(400, 'invalid', 'Invalid page token value.');
      walk = at;
    }
    return page(id, calendar, query, shape, walk);
  }

  function page(
    id: string,
    calendar: Calendar,
    query: URLSearchParams,
    shape: string,
    { since, startedAt, after }: Pick<Token, 'since' | 'startedAt' | 'after'>,
  ): Reply {
    const size = Number(query.get('maxResults') ?? 250);
    const rest = [...calendar.events.values()]
      .filter(({ status, revision }) => (since === undefined ? status !== 'cancelled' : revision > since))
      .flatMap((event) => expanded(event, query.get('singleEvents') === 'true'))
      .filter((event) => event.id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const items = rest.slice(0, size);
    const common = { calendar: id, since, startedAt, after: items.at(-1)?.id ?? '' };
    const next =
      rest.length > size
        ? { nextPageToken: seal({ ...common, kind: 'page', asked: shape }) }
        : withholds
          ? {}
          : { nextSyncToken: seal({ ...common, kind: 'sync', asked: query.get('singleEvents') ?? '' }) };
    return { body: { kind: 'calendar#events', items, ...next } };
  }

  function seal(contents: Token): string {
    const name = `${contents.kind}-${++sealed}`;
    tokens.set(name, contents);
    return name;
  }

  const calendarOf = (id: string): Calendar => {
    const there = calendars.get(id) ?? { events: new Map(), revision: 0 };
    calendars.set(id, there);
    return there;
  };

  return {
    url,
    asked,
    /** Answers to the next requests, instead of what was asked for. */
    refuse: (...replies: Reply[]) => void refusals.push(...replies),
    revoke: () => {
      isRevoked = true;
    },
    withholdSyncTokens: (yes: boolean) => {
      withholds = yes;
    },
    /** Every page token is refused, always. */
    alwaysExpirePages: (yes: boolean) => {
      alwaysExpires = yes;
    },
    expire: (kind: Token['kind'], calendar?: string) => {
      for (const [name, contents] of tokens)
        if (contents.kind === kind && (calendar === undefined || contents.calendar === calendar))
          tokens.delete(name);
    },
    /** Creates an event, or changes it. */
    put(calendarId: string, id: string, fields: Partial<StoredEvent> = {}): void {
      const calendar = calendarOf(calendarId);
      const revision = ++calendar.revision;
      const before = calendar.events.get(id);
      const at = new Date(Date.UTC(2026, 0, 1) + revision * 60_000).toISOString();
      calendar.events.set(id, {
        id,
        status: 'confirmed',
        summary: `${id} of ${calendarId}`,
        created: before?.created ?? at,
        ...before,
        ...fields,
        etag: `"${revision}"`,
        updated: at,
        revision,
      });
    },
    remove(calendarId: string, id: string): void {
      this.put(calendarId, id, { status: 'cancelled' });
    },
    /** What there is now, cancelled events included. */
    truth: (calendarId: string) => [...calendarOf(calendarId).events.values()].map(shown),
    empty: () => {
      calendars.clear();
      tokens.clear();
      asked.length = 0;
      refusals.length = 0;
    },
  };
}

const shapeOf = (query: URLSearchParams) =>
  JSON.stringify([...query].filter(([name]) => name !== 'pageToken').sort());

const shown = ({ revision: _revision, ...event }: StoredEvent & { revision: number }): StoredEvent => event;

function expanded(event: StoredEvent & { revision: number }, singly: boolean): StoredEvent[] {
  if (!singly || !event.occurrences) return [shown(event)];
  return Array.from({ length: event.occurrences }, (_, i) => ({
    ...shown(event),
    id: `${event.id}_${i}`,
    recurringEventId: event.id,
  }));
}

/** As Google tells of what went wrong. */
export function problem(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): Reply {
  const domain = /limit|quota/i.test(reason) ? 'usageLimits' : 'global';
  return { status: code, headers, body: { error: { errors: [{ domain, reason, message }], code, message } } };
}
