import { type ProviderRequest, type Reply, startLocalServer } from './local-server.ts';

export interface StoredEvent {
  id: string;
  status: 'confirmed' | 'cancelled';
  summary: string;
  etag: string;
  created: string;
  updated: string;
  occurrences?: number;
}

interface Calendar {
  events: Map<string, StoredEvent & { revision: number }>;
  revision: number;
}

/** Valid only for the same query. */
interface Token {
  kind: 'page' | 'sync';
  calendar: string;
  /** Without the page token; constant over all pages. */
  query: string;
  /** Return changes after this revision; undefined for all events. */
  since: number | undefined;
  /** The next sync continues from this revision. */
  startedAt: number;
  after: string;
}

const knownParameters = [
  'singleEvents',
  'maxResults',
  'syncToken',
  'pageToken',
  'showDeleted',
  'timeMin',
  'q',
  'orderBy',
];
/** Documented as incompatible with a sync token. */
const notWithSyncToken = ['timeMin', 'q', 'orderBy'];

/** An in-memory Google Calendar API that is as strict as the documentation. */
export async function startGoogleCalendar({ token = 'google-token' } = {}) {
  const calendars = new Map<string, Calendar>();
  const tokens = new Map<string, Token>();
  const requests: ProviderRequest[] = [];
  const refusals: Reply[] = [];
  let isRevoked = false;
  let tokenCount = 0;
  /** Omits the sync token, as Google does for some lists. */
  let omitsSyncToken = false;
  let alwaysExpires = false;

  const url = await startLocalServer((request) => {
    requests.push(request);
    const refused = refusals.shift();
    if (refused) return refused;
    if (isRevoked || request.headers.authorization !== `Bearer ${token}`)
      return problem(401, 'authError', 'Invalid Credentials');
    return list(request);
  });

  function list({ path, query }: ProviderRequest): Reply {
    const id = decodeURIComponent(/^\/calendars\/([^/]+)\/events$/.exec(path)?.[1] ?? '');
    const calendar = calendars.get(id);
    if (!calendar) return problem(404, 'notFound', 'Not Found');
    const unknown = [...query.keys()].find((name) => !knownParameters.includes(name));
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
      if (from.query !== query.get('singleEvents'))
        return problem(400, 'badRequest', 'Parameters differ from the initial request.');
      since = from.startedAt;
    }
    let position = { since, startedAt: calendar.revision, after: '' };
    if (pageToken !== null) {
      const at = tokens.get(pageToken);
      if (at?.kind !== 'page' || at.calendar !== id || at.query !== shape || alwaysExpires)
        return problem(400, 'invalid', 'Invalid page token value.');
      position = at;
    }
    return page(id, calendar, query, shape, position);
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
        ? { nextPageToken: createToken({ ...common, kind: 'page', query: shape }) }
        : omitsSyncToken
          ? {}
          : {
              nextSyncToken: createToken({ ...common, kind: 'sync', query: query.get('singleEvents') ?? '' }),
            };
    return { body: { kind: 'calendar#events', items, ...next } };
  }

  function createToken(contents: Token): string {
    const name = `${contents.kind}-${++tokenCount}`;
    tokens.set(name, contents);
    return name;
  }

  const calendarOf = (id: string): Calendar => {
    const calendar = calendars.get(id) ?? { events: new Map(), revision: 0 };
    calendars.set(id, calendar);
    return calendar;
  };

  return {
    url,
    requests,
    refuse: (...replies: Reply[]) => void refusals.push(...replies),
    revoke: () => {
      isRevoked = true;
    },
    withholdSyncTokens: (yes: boolean) => {
      omitsSyncToken = yes;
    },
    alwaysExpirePages: (yes: boolean) => {
      alwaysExpires = yes;
    },
    expire: (kind: Token['kind'], calendar?: string) => {
      for (const [name, contents] of tokens)
        if (contents.kind === kind && (calendar === undefined || contents.calendar === calendar))
          tokens.delete(name);
    },
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
    truth: (calendarId: string) => [...calendarOf(calendarId).events.values()].map(shown),
    empty: () => {
      calendars.clear();
      tokens.clear();
      requests.length = 0;
      refusals.length = 0;
    },
  };
}

const shapeOf = (query: URLSearchParams) =>
  JSON.stringify([...query].filter(([name]) => name !== 'pageToken').sort());

const shown = ({ revision: _revision, ...event }: StoredEvent & { revision: number }): StoredEvent => event;

function expanded(event: StoredEvent & { revision: number }, singleEvents: boolean): StoredEvent[] {
  if (!singleEvents || !event.occurrences) return [shown(event)];
  return Array.from({ length: event.occurrences }, (_, i) => ({
    ...shown(event),
    id: `${event.id}_${i}`,
    recurringEventId: event.id,
  }));
}

export function problem(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): Reply {
  const domain = /limit|quota/i.test(reason) ? 'usageLimits' : 'global';
  return { status: code, headers, body: { error: { errors: [{ domain, reason, message }], code, message } } };
}
