import { z } from 'zod';
import {
  bearer,
  type Connector,
  createHttp,
  defineConnector,
  type Http,
  type OAuth2,
  type ReceivedAnswer,
  type SyncContext,
  type SyncResult,
  streamsCursor,
  syncStreams,
  UnauthorizedError,
} from '../../connector-kit/index.ts';
import { pageSchema, signalOf } from './events.ts';
import { channelWebhook } from './webhook.ts';

export interface GoogleCalendarOptions {
  /** Where the API begins, if not at Google. */
  baseUrl?: string | undefined;
  /** The app that people give their consent to. */
  oauth2?: (Partial<OAuth2> & Pick<OAuth2, 'clientId'>) | undefined;
  /** The slug of the provider, if not `google-calendar`. */
  provider?: string | undefined;
}

const configSchema = z.object({
  calendars: z
    .array(z.string().min(1), { error: 'must be a list of the ids of calendars, such as ["primary"]' })
    .min(1)
    .max(100),
  /** Every occurrence of a recurring event by itself, rather than the event with its rule. */
  singleEvents: z.boolean().default(false),
  pageSize: z.number().int().min(1).max(2500).default(250),
});
type Config = z.output<typeof configSchema>;

/** Of one calendar. */
const calendarCursor = z.object({
  /** Tokens belong to the parameters that they were got with: with others they would be refused, or lie. */
  singleEvents: z.boolean(),
  /** What the next walk starts from: absent before the first has come to its end. */
  syncToken: z.string().min(1).optional(),
  /** A walk under way. */
  walk: z.object({ pageToken: z.string().min(1), pageSize: z.number() }).optional(),
  /** How often this walk had to be started again. */
  restarts: z.number().int().optional(),
});
type CalendarCursor = z.output<typeof calendarCursor>;

/**
 * As documented: for the project as a whole, and for each user of it. A refusal does not say which of them is used up; it
 * is taken for the user's, which comes last, so that one busy user does not keep all others waiting.
 */
const budgets = [
  { budget: { name: 'requests per project', per: 'app', limit: 10_000, perSeconds: 60 } },
  { budget: { name: 'requests per user', per: 'credential', limit: 600, perSeconds: 60 } },
] as const;

/** Page tokens that expire again and again must not make a run go round for ever. */
const maxRestarts = 3;

/** Events of Google calendars: what was created, changed and cancelled since the last sync. */
export function googleCalendar(options: GoogleCalendarOptions = {}): Connector {
  const {
    baseUrl = 'https://www.googleapis.com/calendar/v3',
    oauth2,
    provider = 'google-calendar',
  } = options;
  return defineConnector({
    provider,
    name: 'Google Calendar',
    configSchema,
    cursorSchema: streamsCursor(calendarCursor),
    ...(oauth2 && { oauth2: withGoogle(oauth2) }),
    webhook: channelWebhook,
    sync: (context) => {
      const http = createHttp(context, { baseUrl, authorize: bearer(), budgets, refusal });
      return syncStreams(context, [...new Set(context.connection.config.calendars)], (calendar, cursor) =>
        readPage(context, http, calendar, cursor),
      );
    },
  });
}

/** Google gives a refresh token only to apps that ask for offline access, and surely only with a fresh consent. */
function withGoogle(app: Partial<OAuth2> & Pick<OAuth2, 'clientId'>): OAuth2 {
  return {
    authorizationUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    scopes: ['https://www.googleapis.com/auth/calendar.events.readonly'],
    ...app,
    authorizationParameters: { access_type: 'offline', prompt: 'consent', ...app.authorizationParameters },
  };
}

type Context = Pick<SyncContext<unknown, Config>, 'connection' | 'job' | 'log'>;

async function readPage(
  { connection, job, log }: Context,
  http: Http,
  calendar: string,
  stored: CalendarCursor | undefined,
): Promise<SyncResult<CalendarCursor>> {
  const { singleEvents, pageSize } = connection.config;
  const cursor: CalendarCursor = stored?.singleEvents === singleEvents ? stored : { singleEvents };
  const { syncToken, walk, restarts } = cursor;
  const { status, data } = await http.get(`calendars/${encodeURIComponent(calendar)}/events`, {
    // The same for all pages of a walk and all walks from a token, as Google demands; and nothing that tokens forbid.
    query: { singleEvents, maxResults: walk?.pageSize ?? pageSize, syncToken, pageToken: walk?.pageToken },
    schema: pageSchema,
    accept: walk ? [400] : [],
    expired: syncToken === undefined ? [] : walk ? [410] : [400, 410],
  });
  if (status === 400) return restarted();

  const signals = data.items.map((event) => signalOf(calendar, event, job.scheduledAt));
  const { nextPageToken, nextSyncToken } = data;
  if (nextPageToken !== undefined)
    return {
      signals,
      nextCursor: {
        ...known(),
        walk: { pageToken: nextPageToken, pageSize: walk?.pageSize ?? pageSize },
        ...(restarts !== undefined && { restarts }),
      },
      hasMore: true,
    };
  if (nextSyncToken === undefined)
    log.warn(`${calendar}: the last page came without a sync token; the next run starts where this one did.`);
  return {
    signals,
    nextCursor: { ...known(), ...(nextSyncToken !== undefined && { syncToken: nextSyncToken }) },
  };

  /** What a walk started from, which stays until it has come to its end. */
  function known(): CalendarCursor {
    return { singleEvents, ...(syncToken !== undefined && { syncToken }) };
  }

  /** The page token has expired: what was read before is stored, and the walk starts again where it started. */
  function restarted(): SyncResult<CalendarCursor> {
    const times = (restarts ?? 0) + 1;
    if (times > maxRestarts) {
      log.warn(`${calendar}: page tokens expired ${times} times in one walk; the next run tries again.`);
      return { signals: [], nextCursor: known() };
    }
    log.info(`${calendar}: the page token has expired; the walk starts again.`);
    return { signals: [], nextCursor: { ...known(), restarts: times }, hasMore: true };
  }
}

/** A token without the scope is no good for anything until its user has consented to more. */
function refusal({ status, body, request }: ReceivedAnswer): Error | undefined {
  if (status !== 403 || !/insufficientPermissions|ACCESS_TOKEN_SCOPE_INSUFFICIENT/.test(body))
    return undefined;
  return new UnauthorizedError(
    `${request} was answered with 403: the consent does not cover reading events. Connect the calendar again.`,
  );
}
