import {
  type Connector,
  contentHash,
  createHttp,
  createValidators,
  defineConnector,
  type Http,
  type SyncContext,
  type SyncResult,
  syncStreams,
} from '../../connector-kit/index.ts';
import { connectorErrorKind, describeError } from '../../contract/errors.ts';
import { parseAnswer } from '../../values/parse-answer.ts';
import { authorizeOf, oauth2Of } from './authentication.ts';
import { type ConfigValues, configSchemaOf } from './config-fields.ts';
import type { HttpDescription, StreamDescription } from './description.ts';
import { type Answer, canExpire, type Pointer, recordsIn, requestForPage, requireOrigin } from './pages.ts';
import { toSignalOf } from './records.ts';
import { baseUrlOf, headersOf, requestPartsOf, resolverOf } from './requests.ts';
import { EmptyPage, refusalsOf } from './rules.ts';
import { httpCursor, type StreamCursor, type Walk } from './stream-cursor.ts';
import { namesIn, parseTemplate } from './templates.ts';
import { formatPosition, type Position } from './times.ts';
import { readPage, type WalkedStream } from './walk.ts';

/** Longer than known lifetimes of page tokens. */
const minRestartIntervalMs = 60 * 60 * 1000;

type Context = SyncContext<{ streams: Record<string, StreamCursor> }, ConfigValues>;

export function connectorOf(description: HttpDescription, env: NodeJS.ProcessEnv): Connector {
  const names = Object.keys(description.streams);
  const oauth2 = oauth2Of(description.auth, env);
  return defineConnector({
    provider: description.provider,
    name: description.name ?? description.provider,
    cursorSchema: httpCursor,
    configSchema: configSchemaOf(description),
    ...(oauth2 && { oauth2 }),
    sync: (context) => {
      const step = stepOf(description, context as Context, env);
      return syncStreams(context, names, step);
    },
  });
}

function stepOf(description: HttpDescription, context: Context, env: NodeJS.ProcessEnv) {
  const { config, externalId } = context.connection;
  const resolve = resolverOf(config, externalId);
  const base = baseUrlOf(description, resolve, env);
  const { auth, budgets = [], errors = [] } = description;
  const isTenantUrl = namesIn(parseTemplate(description.baseUrl)).length > 0;
  const http = createHttp(context, {
    baseUrl: base.href,
    authorize: authorizeOf(auth),
    headers: { accept: 'application/json', ...headersOf(description.headers, resolve, env) },
    budgets: budgets.map((budget) => ({ budget })),
    network: description.network ?? (isTenantUrl ? 'public' : 'any'),
    refusal: refusalsOf(errors, context.clock.now),
  });
  const startedStreams = new Set<string>();

  return async (name: string, stored: StreamCursor | undefined): Promise<SyncResult<StreamCursor>> => {
    const stream = description.streams[name] as StreamDescription;
    const queryHash = contentHash([
      base.href,
      stream.request,
      stream.records,
      stream.cursor,
      stream.pagination,
      config,
      externalId,
    ]);
    const state: StreamCursor = stored?.of === queryHash ? stored : { of: queryHash };
    const walkedStream: WalkedStream = {
      name,
      description: stream,
      toSignal: toSignalOf(name, stream),
      origin: base.origin,
      secretParameter: auth.type === 'query' ? auth.query : undefined,
    };
    const fetcher = createPageFetcher(http, walkedStream, state, { config, externalId });
    const nowMs = context.clock.now();
    const isFirst = !startedStreams.has(name);
    startedStreams.add(name);
    try {
      const result = await readPage(walkedStream, state, fetcher.fetchPage, nowMs);
      return { ...result, nextCursor: fetcher.withTags(result.nextCursor ?? state, result.hasMore === true) };
    } catch (error) {
      // The page token may have expired: restart, at most hourly, or a failing page would loop.
      const kind = connectorErrorKind(error);
      const isStale = canExpire(state.walk?.page) && (kind === 'permanent' || kind === 'cursor_expired');
      const isRecentRestart = nowMs - Date.parse(state.restartedAt ?? '') < minRestartIntervalMs;
      if (!isFirst || !isStale || isRecentRestart) throw error;
      context.log.info(`${name} restarts from its watermark: ${describeError(error)}`);
      const { watermark } = state;
      return {
        signals: [],
        nextCursor: {
          of: queryHash,
          ...(watermark !== undefined && { watermark }),
          restartedAt: new Date(nowMs).toISOString(),
        },
        hasMore: true,
      };
    }
  };
}

interface Connection {
  config: ConfigValues;
  externalId: string | undefined;
}

function createPageFetcher(
  http: Http,
  { name, description, origin }: WalkedStream,
  state: StreamCursor,
  { config, externalId }: Connection,
) {
  const { request, cursor, pagination = { type: 'none' } } = description;
  const method = request.method ?? 'GET';
  // First page only: a 304 must mean an unchanged list.
  const validators = state.walk || method !== 'GET' ? undefined : createValidators(state.tags);

  async function fetchPage(
    walk: Walk,
    pointer: Pointer | undefined,
    from: Position | undefined,
  ): Promise<Answer | undefined> {
    const value =
      cursor && from !== undefined ? formatPosition(cursor, from, cursor.lookbackSeconds) : undefined;
    const resolve = resolverOf(config, externalId, { cursor: value, nowMs: Date.parse(walk.startedAt) });
    const parts = requestPartsOf(description, resolve);
    const query =
      cursor?.parameter !== undefined && value !== undefined
        ? { ...parts.query, [cursor.parameter]: value }
        : parts.query;
    const pageRequest = requestForPage({ ...parts, query }, pagination, pointer);
    const hasUrl = pointer !== undefined && 'url' in pointer;
    if (hasUrl) requireOrigin(pointer.url, origin);
    const answer = await http
      .request(method, hasUrl ? pointer.url : pageRequest.path, {
        ...(!hasUrl && { query: pageRequest.query }),
        headers: pageRequest.headers,
        ...(pageRequest.json !== undefined && { json: pageRequest.json }),
        validators,
        repeatable: true,
      })
      .catch((error: unknown) => {
        if (error instanceof EmptyPage) return undefined;
        throw error;
      });
    if (answer?.status === 304) return undefined;
    if (!answer || answer.text.trim() === '')
      return { headers: new Headers(), body: undefined, records: [], url: '', isBlank: true };
    const body = parseAnswer(answer.text, name);
    return {
      headers: answer.headers,
      body,
      records: recordsIn(body, description.records, name),
      url: answer.url,
    };
  }

  /** The first page's validators suffice for a single page, or a list sorted newest first. */
  function withTags(next: StreamCursor, hasMore: boolean): StreamCursor {
    if (!validators) return next;
    const tags = !hasMore || cursor?.order === 'descending' ? validators.toCursor() : undefined;
    const { tags: _old, ...rest } = next;
    return tags ? { ...rest, tags } : rest;
  }

  return { fetchPage, withTags };
}
