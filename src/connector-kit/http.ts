import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { BudgetUse } from '../contract/budget.ts';
import type { SyncContext } from '../contract/connector.ts';
import type { Credential } from '../contract/credential.ts';
import {
  CursorExpiredError,
  connectorErrorKind,
  describeError,
  PermanentError,
  TransientError,
} from '../contract/errors.ts';
import { startTimer } from '../platform/timer.ts';
import { maxResponse } from '../values/limits.ts';
import { secretsOf, withoutSecrets } from '../values/redact.ts';
import type { Authorize } from './authorize.ts';
import { parseBody, readText } from './body.ts';
import { type Outgoing, sendFollowingRedirects } from './outgoing.ts';
import { readableUrl } from './readable-url.ts';
import { type ReceivedAnswer, refusalOf } from './refusals.ts';
import { updateBudgets } from './update-budgets.ts';
import type { Validators } from './validators.ts';

/** Rules for all requests of a run. */
export interface HttpOptions {
  /** Credentials go to this origin only. */
  baseUrl: string;
  authorize?: Authorize | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Of every request, broadest first. Rate limit headers update the budget they name, else the first; a 429
   * while that one has requests left exhausts the last.
   */
  budgets?: readonly BudgetUse[] | undefined;
  /** Per request, including the body. */
  timeoutMs?: number | undefined;
  maxBytes?: number | undefined;
  /** `public` blocks private networks (SSRF): for URLs that tenants choose. */
  network?: 'public' | 'any' | undefined;
  /** Provider-specific errors, before the default rules; also called for 2xx. */
  refusal?: ((answer: ReceivedAnswer) => Error | undefined) | undefined;
}

/** Options of one request. */
export interface HttpRequest<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  json?: unknown;
  /** Sent as `application/x-www-form-urlencoded`. */
  form?: Readonly<Record<string, string>> | undefined;
  /** Without it, the body is not parsed; use `text`. */
  schema?: Schema | undefined;
  /** Besides those of every request. */
  budgets?: readonly BudgetUse[] | undefined;
  /** Non-2xx statuses to return, not throw. */
  accept?: readonly number[] | undefined;
  /** Statuses that mean an expired cursor, such as 410. */
  expired?: readonly number[] | undefined;
  /** Makes the request conditional (ETag, Last-Modified). */
  validators?: Validators | undefined;
  /** Retry network errors. Default: GET and HEAD only. */
  repeatable?: boolean | undefined;
}

/** A response; `data` is the parsed body. */
export interface HttpResponse<Data> {
  status: number;
  headers: Headers;
  data: Data;
  text: string;
  /** After redirects. */
  url: string;
}

type DataOf<Schema extends StandardSchemaV1> = StandardSchemaV1.InferOutput<Schema>;

/** Requests to the provider, with credential, budgets, retries and redaction. */
export interface Http {
  /** GET; throws connector errors for other statuses than 2xx and `accept`. */
  get<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
    path: string,
    request?: HttpRequest<Schema>,
  ): Promise<HttpResponse<DataOf<Schema>>>;
  /** Conditional GET; undefined on 304. */
  getIfChanged<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
    path: string,
    request: HttpRequest<Schema> & { validators: Validators },
  ): Promise<HttpResponse<DataOf<Schema>> | undefined>;
  /** As `get`, with any method. */
  request<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
    method: string,
    path: string,
    request?: HttpRequest<Schema>,
  ): Promise<HttpResponse<DataOf<Schema>>>;
}

type HttpContext = Pick<
  SyncContext,
  'abortSignal' | 'log' | 'credentials' | 'budgets' | 'fetch' | 'clock' | 'job'
>;

const defaultTimeoutMs = 30_000;
/** Longer outages use the job's backoff. */
const retryDelaysMs = [250, 1000];

/** Maps failures to connector errors and redacts logs. */
export function createHttp(context: HttpContext, options: HttpOptions): Http {
  const { abortSignal, log, clock } = context;
  const { timeoutMs = defaultTimeoutMs, maxBytes = maxResponse.bytes } = options;
  const base = new URL(options.baseUrl.endsWith('/') ? options.baseUrl : `${options.baseUrl}/`);
  const secrets = new Set<string>();
  const redact = (text: string) => withoutSecrets(text, secrets);

  function urlOf(path: string, query: HttpRequest['query']): URL {
    // "./": a colon in the first segment is no scheme.
    const url = /^https?:\/\//i.test(path) ? new URL(path) : new URL(`./${path.replace(/^\/+/, '')}`, base);
    if (url.origin !== base.origin && options.authorize)
      throw new PermanentError(
        `${url.origin} is not ${base.origin}: credentials are not sent to another origin.`,
      );
    for (const [name, value] of Object.entries(query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  }

  async function currentCredential(): Promise<Credential | undefined> {
    if (!options.authorize || (options.authorize.isOptional && context.credentials.id === undefined))
      return undefined;
    return context.credentials.get();
  }

  async function execute(method: string, path: string, request: HttpRequest): Promise<HttpResponse<unknown>> {
    const url = urlOf(path, request.query);
    const credential = await currentCredential();
    try {
      return await sendWithRetries({ method, url, request, credential });
    } catch (error) {
      // Rotated by another process, or revoked: retry once.
      if (connectorErrorKind(error) !== 'unauthorized' || !credential) throw error;
      const renewed = await context.credentials.renew(credential).catch((failure: unknown) => {
        // Only `unauthorized` means that no other credential exists.
        throw connectorErrorKind(failure) === 'unauthorized' ? error : failure;
      });
      return sendWithRetries({ method, url, request, credential: renewed });
    }
  }

  async function sendWithRetries(outgoing: Outgoing): Promise<HttpResponse<unknown>> {
    const { method, request } = outgoing;
    const isRepeatable = request.repeatable ?? (method === 'GET' || method === 'HEAD');
    for (let failures = 0; ; failures++) {
      try {
        return await sendOnce(outgoing);
      } catch (error) {
        const delayMs = retryDelaysMs[failures];
        const canRetry = isRepeatable && connectorErrorKind(error) === 'transient' && !abortSignal.aborted;
        if (!canRetry || delayMs === undefined) throw error;
        log.debug(`${describeError(error)} Retrying in ${delayMs} ms.`);
        await clock.sleep(delayMs, abortSignal);
      }
    }
  }

  async function sendOnce(outgoing: Outgoing): Promise<HttpResponse<unknown>> {
    const { method, url, request, credential } = outgoing;
    for (const secret of credential ? secretsOf(credential) : []) secrets.add(secret);
    const label = `${method} ${readableUrl(url, redact)}`;
    const uses = [...(options.budgets ?? []), ...(request.budgets ?? [])];
    const reservation = uses.length === 0 ? undefined : await context.budgets.take(uses);
    const startedMs = clock.monotonicMs();
    const { response, text } = await send(outgoing, label).catch((error: unknown) => {
      // The provider may have counted it.
      reservation?.settle();
      throw error;
    });
    const tookMs = Math.round(clock.monotonicMs() - startedMs);
    log.debug(`${label} → ${response.status}, ${text.length} characters, ${tookMs} ms`);
    // Unauthenticated 304s count. Settle first: the headers include this request.
    reservation?.settle({ free: response.status === 304 && credential !== undefined });
    updateBudgets(response, text, { uses, context });
    return toAnswer({ outgoing, label, response, text });
  }

  async function send(outgoing: Outgoing, label: string): Promise<{ response: Response; text: string }> {
    const timeout = new AbortController();
    const cancelTimeout = startTimer(clock, timeoutMs, () => timeout.abort(), { ref: false });
    const signal = AbortSignal.any([abortSignal, timeout.signal]);
    try {
      const response = await sendFollowingRedirects(outgoing, { context, options, base, redact, signal });
      const isErrorStatus = response.status >= 400 && !outgoing.request.accept?.includes(response.status);
      const text = await readText(response, maxBytes, isErrorStatus ? maxResponse.errorBytes : undefined);
      return { response, text };
    } catch (error) {
      if (abortSignal.aborted) throw abortSignal.reason;
      if (connectorErrorKind(error) === 'permanent') throw error;
      if (timeout.signal.aborted)
        throw new TransientError(`${label}: no response within ${timeoutMs / 1000} s.`);
      throw networkError(error, label);
    } finally {
      cancelTimeout();
    }
  }

  async function toAnswer(received: {
    outgoing: Outgoing;
    label: string;
    response: Response;
    text: string;
  }): Promise<HttpResponse<unknown>> {
    const { label, response, text } = received;
    const { request, credential, url } = received.outgoing;
    const { status, headers } = response;
    const answer = {
      status,
      headers,
      // Redaction is expensive and rare.
      get body() {
        return redact(text.slice(0, maxResponse.errorBytes));
      },
      request: label,
      attempts: context.job.attempts,
    };
    const customError = options.refusal?.(answer);
    if (customError) throw customError;
    const isAccepted = response.ok || status === 304 || request.accept?.includes(status);
    if (!isAccepted && request.expired?.includes(status))
      throw new CursorExpiredError(
        `The provider no longer accepts the cursor: ${answer.request} returned ${status}.`,
      );
    if (!isAccepted) throw refusalOf(answer, clock.now());
    const data =
      request.schema && response.ok ? await parseBody(text, request.schema, answer.request) : undefined;
    // After parsing: a later 304 would hide an unparsed page.
    if (response.ok) request.validators?.keep(url, credential, headers);
    return { status, headers, data, text, url: response.url || url.href };
  }

  return {
    get: (path, request = {}) => execute('GET', path, request),
    request: (method, path, request = {}) => execute(method.toUpperCase(), path, request),
    getIfChanged: async (path, request) => {
      const answer = await execute('GET', path, request);
      return answer.status === 304 ? undefined : answer;
    },
  };
}

/** The network error is in `cause`. */
function networkError(error: unknown, label: string): Error {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (connectorErrorKind(cause) === 'permanent') return cause as Error;
  return new TransientError(`${label}: ${describeError(cause)}`, { cause });
}
