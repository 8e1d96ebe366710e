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
import { systemPorts } from '../../platform/ports.ts';
import { parseAnswer } from '../../values/parse-answer.ts';
import { authorizeOf, oauth2Of } from './authentication.ts';
import { type ConfigValues, configSchemaOf } from './config-fields.ts';
import type { HttpDescription, StreamDescription } from './description.ts';
import { type Answer, askedForPage, isPerishable, type Pointer, recordsIn } from './pages.ts';
import { toSignalOf } from './records.ts';
import { askedOf, baseUrlOf, headersOf, resolverOf } from './requests.ts';
import { NothingThere, refusalsOf } from './rules.ts';
import { httpCursor, type StreamCursor, type Walk } from './stream-cursor.ts';
import { namesIn, parseTemplate } from './templates.ts';
import { type Position, sent } from './times.ts';
import { type WalkedStream, walkOn } from './walk.ts';

/** Longer than any token for a page is known to last within a walk, and short enough for the next interval to try anew. */
const betweenRestartsMs = 60 * 60 * 1000;

type Context = SyncContext<{ streams: Record<string, StreamCursor> }, ConfigValues>;

/** Runs a description that was checked. */
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
  const isChosen = namesIn(parseTemplate(description.baseUrl)).length > 0;
  const http = createHttp(context, {
    baseUrl: base.href,
    authorize: authorizeOf(auth),
    headers: { accept: 'application/json', ...headersOf(description.headers, resolve, env) },
    budgets: budgets.map((budget) => ({ budget })),
    network: description.network ?? (isChosen ? 'public' : 'any'),
    refusal: refusalsOf(errors),
  });
  /** Streams of which a page was read in this run. */
  const begun = new Set<string>();

  return async (name: string, stored: StreamCursor | undefined): Promise<SyncResult<StreamCursor>> => {
    const stream = description.streams[name] as StreamDescription;
    const of = contentHash([
      base.href,
      stream.request,
      stream.records,
      stream.cursor,
      stream.pagination,
      config,
      externalId,
    ]);
    const state: StreamCursor = stored?.of === of ? stored : { of };
    const walked: WalkedStream = {
      name,
      description: stream,
      toSignal: toSignalOf(name, stream),
      origin: base.origin,
      secretParameter: auth.type === 'query' ? auth.query : undefined,
    };
    const asker = askerOf(http, walked, state, { config, externalId });
    const nowMs = systemPorts.now();
    const isFirst = !begun.has(name);
    begun.add(name);
    try {
      const result = await walkOn(walked, state, asker.ask, nowMs);
      return { ...result, nextCursor: asker.withTags(result.nextCursor ?? state, result.hasMore === true) };
    } catch (error) {
      // Tokens for pages perish. Then the walk starts anew, at the watermark, rather than fail for ever; but only if the
      // token had the time to: a page that is always refused would be come to again and again, run after run.
      const kind = connectorErrorKind(error);
      const isStale = isPerishable(state.walk?.page) && (kind === 'permanent' || kind === 'cursor_expired');
      const isAgain = nowMs - Date.parse(state.restartedAt ?? '') < betweenRestartsMs;
      if (!isFirst || !isStale || isAgain) throw error;
      context.log.info(`${name} is read from its watermark again: ${describeError(error)}`);
      const { watermark } = state;
      return {
        signals: [],
        nextCursor: {
          of,
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

/** Asks for the pages of one step. */
function askerOf(
  http: Http,
  { name, description }: WalkedStream,
  state: StreamCursor,
  { config, externalId }: Connection,
) {
  const { request, cursor, pagination = { type: 'none' } } = description;
  const method = request.method ?? 'GET';
  // Only of a page that nothing went before: "not changed" must mean that there is nothing new at all.
  const validators = state.walk || method !== 'GET' ? undefined : createValidators(state.tags);

  async function ask(
    walk: Walk,
    pointer: Pointer | undefined,
    from: Position | undefined,
  ): Promise<Answer | undefined> {
    const value = cursor && from !== undefined ? sent(cursor, from, cursor.lookbackSeconds) : undefined;
    const resolve = resolverOf(config, externalId, { cursor: value, nowMs: Date.parse(walk.startedAt) });
    const plain = askedOf(description, resolve);
    const query =
      cursor?.parameter !== undefined && value !== undefined
        ? { ...plain.query, [cursor.parameter]: value }
        : plain.query;
    const asked = askedForPage({ ...plain, query }, pagination, pointer);
    const isElsewhere = pointer !== undefined && 'url' in pointer;
    const answer = await http
      .request(method, isElsewhere ? pointer.url : asked.path, {
        ...(!isElsewhere && { query: asked.query }),
        headers: asked.headers,
        ...(asked.json !== undefined && { json: asked.json }),
        validators,
        repeatable: true,
      })
      .catch((error: unknown) => {
        if (error instanceof NothingThere) return undefined;
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

  /** Tags speak for the first page. They may be kept where that says enough: it was the only one, or the newest. */
  function withTags(next: StreamCursor, hasMore: boolean): StreamCursor {
    if (!validators) return next;
    const tags = !hasMore || cursor?.order === 'descending' ? validators.toCursor() : undefined;
    const { tags: _old, ...rest } = next;
    return tags ? { ...rest, tags } : rest;
  }

  return { ask, withTags };
}
