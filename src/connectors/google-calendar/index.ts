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
import { type CalendarPayloads, type CalendarSignal, pageSchema, signalOf, signalSchemas } from './events.ts';
import { channelWebhook } from './webhook.ts';

export interface GoogleCalendarOptions<Provider extends string = string> {
  /** Default: Google. */
  baseUrl?: string | undefined;
  oauth2?: (Partial<OAuth2> & Pick<OAuth2, 'clientId'>) | undefined;
  /** Default: `google-calendar`. */
  provider?: Provider | undefined;
}

const configSchema = z.object({
  calendars: z
    .array(z.string().min(1), { error: 'must be a list of calendar ids, such as ["primary"]' })
    .min(1)
    .max(100),
  /** Expand recurring events into occurrences. */
  singleEvents: z.boolean().default(false),
  pageSize: z.number().int().min(1).max(2500).default(250),
});
type Config = z.output<typeof configSchema>;

const calendarCursor = z.object({
  /** A token is valid only with its parameters. */
  singleEvents: z.boolean(),
  /** Absent until the first walk completes. */
  syncToken: z.string().min(1).optional(),
  walk: z.object({ pageToken: z.string().min(1), pageSize: z.number() }).optional(),
  restarts: z.number().int().optional(),
});
type CalendarCursor = z.output<typeof calendarCursor>;

/** A 403 names no budget: assumes the last (user), so that one user does not block others. */
const budgets = [
  { budget: { name: 'requests per project', per: 'app', limit: 10_000, perSeconds: 60 } },
  { budget: { name: 'requests per user', per: 'credential', limit: 600, perSeconds: 60 } },
] as const;

const maxRestarts = 3;

/** Created, changed and cancelled events of Google calendars. */
export function googleCalendar<const Provider extends string = 'google-calendar'>(
  options: GoogleCalendarOptions<Provider> = {},
): Connector<Provider, z.input<typeof configSchema>, CalendarPayloads> {
  const {
    baseUrl = 'https://www.googleapis.com/calendar/v3',
    oauth2,
    provider = 'google-calendar' as Provider,
  } = options;
  return defineConnector({
    provider,
    name: 'Google Calendar',
    configSchema,
    cursorSchema: streamsCursor(calendarCursor),
    signalSchemas,
    ...(oauth2 && { oauth2: googleOAuth(oauth2) }),
    webhook: channelWebhook,
    sync: (context) => {
      const http = createHttp(context, { baseUrl, authorize: bearer(), budgets, refusal });
      return syncStreams(context, [...new Set(context.connection.config.calendars)], (calendar, cursor) =>
        readPage(context, http, calendar, cursor),
      );
    },
  });
}

/** Reliable refresh tokens need offline access and `prompt=consent`. */
function googleOAuth(app: Partial<OAuth2> & Pick<OAuth2, 'clientId'>): OAuth2 {
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
): Promise<SyncResult<CalendarCursor, CalendarSignal>> {
  const { singleEvents, pageSize } = connection.config;
  const cursor: CalendarCursor = stored?.singleEvents === singleEvents ? stored : { singleEvents };
  const { syncToken, walk, restarts } = cursor;
  const { status, data } = await http.get(`calendars/${encodeURIComponent(calendar)}/events`, {
    query: { singleEvents, maxResults: walk?.pageSize ?? pageSize, syncToken, pageToken: walk?.pageToken },
    schema: pageSchema,
    accept: walk ? [400] : [],
    expired: syncToken === undefined ? [] : walk ? [410] : [400, 410],
  });
  if (status === 400) return restart();

  const signals = data.items.map((event) => signalOf(calendar, event, job.scheduledAt));
  const { nextPageToken, nextSyncToken } = data;
  if (nextPageToken !== undefined)
    return {
      signals,
      nextCursor: {
        ...startOfWalk(),
        walk: { pageToken: nextPageToken, pageSize: walk?.pageSize ?? pageSize },
        ...(restarts !== undefined && { restarts }),
      },
      hasMore: true,
    };
  if (nextSyncToken === undefined)
    log.warn(`${calendar}: the last page has no sync token; the next run starts at the same position.`);
  return {
    signals,
    nextCursor: { ...startOfWalk(), ...(nextSyncToken !== undefined && { syncToken: nextSyncToken }) },
  };

  /** Keeps the sync token until the walk completes. */
  function startOfWalk(): CalendarCursor {
    return { singleEvents, ...(syncToken !== undefined && { syncToken }) };
  }

  /** Pages already read are stored. */
  function restart(): SyncResult<CalendarCursor, CalendarSignal> {
    const times = (restarts ?? 0) + 1;
    if (times > maxRestarts) {
      log.warn(`${calendar}: page tokens expired ${times} times in one walk; the next run retries.`);
      return { signals: [], nextCursor: startOfWalk() };
    }
    log.info(`${calendar}: the page token expired; restarting the walk.`);
    return { signals: [], nextCursor: { ...startOfWalk(), restarts: times }, hasMore: true };
  }
}

/** A missing scope needs new consent. */
function refusal({ status, body, request }: ReceivedAnswer): Error | undefined {
  if (status !== 403 || !/insufficientPermissions|ACCESS_TOKEN_SCOPE_INSUFFICIENT/.test(body))
    return undefined;
  return new UnauthorizedError(
    `${request} returned 403: the granted scopes do not allow reading events. Reconnect the calendar.`,
  );
}
