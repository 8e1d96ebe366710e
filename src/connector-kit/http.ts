import { setTimeout as delay } from 'node:timers/promises';
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
import { systemPorts } from '../platform/ports.ts';
import { secretsOf, withoutSecrets } from '../values/redact.ts';
import type { Authorize } from './authorize.ts';
import { parseBody, readText } from './body.ts';
import { learnFrom } from './learn.ts';
import { follow, type Outgoing } from './outgoing.ts';
import { readableUrl } from './redact.ts';
import { type ReceivedAnswer, refusalOf } from './refusals.ts';
import type { Validators } from './validators.ts';

export interface HttpOptions {
  /** Where the provider's API begins. A credential goes to this origin and nowhere else. */
  baseUrl: string;
  /** How the connection's credential is shown; without it none is used. */
  authorize?: Authorize | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * What every request is paid from, the most general first. What answers say of a limit is taken for the first, or for
   * the one that they name; a refusal although that one is not used up is taken for the last.
   */
  budgets?: readonly BudgetUse[] | undefined;
  /** For one request, body included. */
  timeoutMs?: number | undefined;
  /** The largest body that is read. */
  maxBytes?: number | undefined;
  /** `public`: addresses of private networks are refused. For base URLs that tenants choose. */
  network?: 'public' | 'any' | undefined;
  /** Understands answers that the usual rules do not: returns what to throw, or nothing. Asked before them, also for successes. */
  refusal?: ((answer: ReceivedAnswer) => Error | undefined) | undefined;
}

export interface HttpRequest<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a form. */
  form?: Readonly<Record<string, string>> | undefined;
  /** Checks the body, and gives it its type. Without it the body is not parsed: see `text`. */
  schema?: Schema | undefined;
  /** What this request is paid from, besides what all are. */
  budgets?: readonly BudgetUse[] | undefined;
  /** Statuses, besides successes, that are answers rather than errors. */
  accept?: readonly number[] | undefined;
  /** Statuses that mean that the cursor has expired, such as 410. */
  expired?: readonly number[] | undefined;
  /** Asks only for what has changed. */
  validators?: Validators | undefined;
  /** Whether it may be sent again when no answer came. Only what reads, unless given. */
  repeatable?: boolean | undefined;
}

export interface HttpAnswer<Data> {
  status: number;
  headers: Headers;
  data: Data;
  /** As it came. */
  text: string;
  /** Where it came from in the end. */
  url: string;
}

type DataOf<Schema extends StandardSchemaV1> = StandardSchemaV1.InferOutput<Schema>;

/** A provider's HTTP API, for one run. */
export interface Http {
  get<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
    path: string,
    request?: HttpRequest<Schema>,
  ): Promise<HttpAnswer<DataOf<Schema>>>;
  /** As `get`, with validators; undefined where nothing has changed. */
  getIfChanged<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
    path: string,
    request: HttpRequest<Schema> & { validators: Validators },
  ): Promise<HttpAnswer<DataOf<Schema>> | undefined>;
  request<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
    method: string,
    path: string,
    request?: HttpRequest<Schema>,
  ): Promise<HttpAnswer<DataOf<Schema>>>;
}

type HttpContext = Pick<SyncContext, 'abortSignal' | 'log' | 'credentials' | 'budgets' | 'fetch' | 'job'>;

const usual = { timeoutMs: 30_000, maxBytes: 32 * 1024 * 1024 };
/** A slip of the network is over by then; anything longer is for the job's own backing off. */
const retryPausesMs = [250, 1000];
/** The beginning of a body that explains a refusal. */
const explanationBytes = 64 * 1024;

/**
 * Speaks to a provider as it wants to be spoken to. Whatever is no answer becomes an error that the engine understands;
 * every request is in the run's log, secrets hidden.
 */
export function createHttp(context: HttpContext, options: HttpOptions): Http {
  const { abortSignal, log } = context;
  const { timeoutMs = usual.timeoutMs, maxBytes = usual.maxBytes } = options;
  const base = new URL(options.baseUrl.endsWith('/') ? options.baseUrl : `${options.baseUrl}/`);
  const secrets = new Set<string>();
  const hide = (text: string) => withoutSecrets(text, secrets);

  /** As itself where it is a whole address of the same origin, else below the base. */
  function urlOf(path: string, query: HttpRequest['query']): URL {
    // The dot keeps a colon in the first segment from being the end of a scheme.
    const url = /^https?:\/\//i.test(path) ? new URL(path) : new URL(`./${path.replace(/^\/+/, '')}`, base);
    if (url.origin !== base.origin && options.authorize)
      throw new PermanentError(
        `${url.origin} is not ${base.origin}: the credential is not sent to another origin.`,
      );
    for (const [name, value] of Object.entries(query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  }

  async function credential(): Promise<Credential | undefined> {
    if (!options.authorize || (options.authorize.isOptional && context.credentials.id === undefined))
      return undefined;
    return context.credentials.get();
  }

  async function request(method: string, path: string, asked: HttpRequest): Promise<HttpAnswer<unknown>> {
    const url = urlOf(path, asked.query);
    const used = await credential();
    try {
      return await patiently({ method, url, asked, used });
    } catch (error) {
      // Revoked, or replaced by another process meanwhile: worth one more try with whatever there is now.
      if (connectorErrorKind(error) !== 'unauthorized' || !used) throw error;
      const renewed = await context.credentials.renew(used).catch((failure: unknown) => {
        // Only a refusal says that there is no other credential; anything else may pass, and the 401 with it.
        throw connectorErrorKind(failure) === 'unauthorized' ? error : failure;
      });
      return patiently({ method, url, asked, used: renewed });
    }
  }

  /** A request that only reads may be sent again: nobody can tell that it was sent twice. */
  async function patiently(outgoing: Outgoing): Promise<HttpAnswer<unknown>> {
    const { method, asked } = outgoing;
    const isRepeatable = asked.repeatable ?? (method === 'GET' || method === 'HEAD');
    for (let failures = 0; ; failures++) {
      try {
        return await once(outgoing);
      } catch (error) {
        const pauseMs = retryPausesMs[failures];
        const isWorthIt = isRepeatable && connectorErrorKind(error) === 'transient' && !abortSignal.aborted;
        if (!isWorthIt || pauseMs === undefined) throw error;
        log.debug(`${describeError(error)} Trying again in ${pauseMs} ms.`);
        await delay(pauseMs, undefined, { signal: abortSignal }).catch(() => {});
      }
    }
  }

  async function once(outgoing: Outgoing): Promise<HttpAnswer<unknown>> {
    const { method, url, asked, used } = outgoing;
    for (const secret of used ? secretsOf(used) : []) secrets.add(secret);
    const shown = `${method} ${readableUrl(url, hide)}`;
    const uses = [...(options.budgets ?? []), ...(asked.budgets ?? [])];
    const taken = uses.length === 0 ? undefined : await context.budgets.take(uses);
    const startedMs = systemPorts.monotonicMs();
    const { response, text } = await send(outgoing, shown).catch((error: unknown) => {
      // It may have been counted all the same.
      taken?.settle();
      throw error;
    });
    const tookMs = Math.round(systemPorts.monotonicMs() - startedMs);
    log.debug(`${shown} → ${response.status}, ${text.length} characters, ${tookMs} ms`);
    // Strangers pay for "not modified" too. Settled before anything is learned: what the answer says of the budget has this request in it.
    taken?.settle({ free: response.status === 304 && used !== undefined });
    learnFrom(response, text, { uses, context });
    return understood({ outgoing, shown, response, text });
  }

  async function send(outgoing: Outgoing, shown: string): Promise<{ response: Response; text: string }> {
    const late = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([abortSignal, late]);
    try {
      const response = await follow(outgoing, { context, options, base, hide, signal });
      const isRefused = response.status >= 400 && !outgoing.asked.accept?.includes(response.status);
      const text = await readText(response, maxBytes, isRefused ? explanationBytes : undefined);
      return { response, text };
    } catch (error) {
      if (abortSignal.aborted) throw abortSignal.reason;
      if (connectorErrorKind(error) === 'permanent') throw error;
      if (late.aborted) throw new TransientError(`${shown}: no answer within ${timeoutMs / 1000} s.`);
      throw causeOf(error, shown);
    }
  }

  async function understood(received: {
    outgoing: Outgoing;
    shown: string;
    response: Response;
    text: string;
  }): Promise<HttpAnswer<unknown>> {
    const { shown, response, text } = received;
    const { asked, used, url } = received.outgoing;
    const { status, headers } = response;
    const answer = {
      status,
      headers,
      // Looked at in few answers, and searching for secrets takes a while.
      get body() {
        return hide(text.slice(0, explanationBytes));
      },
      request: shown,
      attempts: context.job.attempts,
    };
    const special = options.refusal?.(answer);
    if (special) throw special;
    const isAnswer = response.ok || status === 304 || asked.accept?.includes(status);
    if (!isAnswer && asked.expired?.includes(status))
      throw new CursorExpiredError(
        `The provider no longer accepts the cursor: ${answer.request} was answered with ${status}.`,
      );
    if (!isAnswer) throw refusalOf(answer, systemPorts.now());
    const data =
      asked.schema && response.ok ? await parseBody(text, asked.schema, answer.request) : undefined;
    // Not before it was understood: "nothing has changed" would hide for good what nobody could read.
    if (response.ok) asked.validators?.keep(url, used, headers);
    return { status, headers, data, text, url: response.url || url.href };
  }

  return {
    get: (path, asked = {}) => request('GET', path, asked),
    request: (method, path, asked = {}) => request(method.toUpperCase(), path, asked),
    getIfChanged: async (path, asked) => {
      const answer = await request('GET', path, asked);
      return answer.status === 304 ? undefined : answer;
    },
  };
}

/** What fetch throws says only that it failed; why is in its cause. */
function causeOf(error: unknown, shown: string): Error {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (connectorErrorKind(cause) === 'permanent') return cause as Error;
  return new TransientError(`${shown}: ${describeError(cause)}`, { cause });
}
