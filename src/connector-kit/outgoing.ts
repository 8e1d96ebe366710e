import type { SyncContext } from '../contract/connector.ts';
import type { Credential } from '../contract/credential.ts';
import { PermanentError } from '../contract/errors.ts';
import type { HttpOptions, HttpRequest } from './http.ts';
import { publicAgent, requirePublicHost } from './network.ts';
import { readableUrl } from './redact.ts';
import { withoutNamed } from './refusals.ts';

/** A request, with the credential that it shows. */
export interface Outgoing {
  method: string;
  url: URL;
  asked: HttpRequest;
  used: Credential | undefined;
}

const maxRedirects = 5;

/** Sends a request and follows redirects by itself: beyond the origin the credential does not go along. */
export async function follow(
  outgoing: Outgoing,
  how: {
    context: Pick<SyncContext, 'fetch'>;
    options: HttpOptions;
    base: URL;
    hide: (text: string) => string;
    signal: AbortSignal;
  },
): Promise<Response> {
  const { context, options, base, hide, signal } = how;
  const { method, url: start, asked, used } = outgoing;
  let url = start;
  for (let hops = 0; hops <= maxRedirects; hops++) {
    if (options.network === 'public') requirePublicHost(url);
    const isHome = url.origin === base.origin;
    const headers = headersOf(outgoing, options);
    const response = await context.fetch(isHome ? addressed(url, used, options) : url.href, {
      method,
      signal,
      redirect: 'manual',
      ...bodyOf(asked),
      headers: isHome ? headers : forStrangers(headers),
      ...(options.network === 'public' && { dispatcher: publicAgent }),
    } as unknown as RequestInit);
    const to = response.headers.get('location');
    const isRedirect = [301, 302, 303, 307, 308].includes(response.status) && to !== null;
    if (!isRedirect || (method !== 'GET' && method !== 'HEAD')) return response;
    await response.body?.cancel();
    if (!URL.canParse(to, url.href) || !/^https?:$/.test(new URL(to, url).protocol))
      throw new PermanentError(
        `${method} ${readableUrl(start, hide)} leads to "${withoutNamed(hide(to)).slice(0, 200)}", which is no address.`,
      );
    url = new URL(to, url);
  }
  throw new PermanentError(
    `${method} ${readableUrl(start, hide)} leads from one redirect to the next, more than ${maxRedirects}.`,
  );
}

function addressed(url: URL, used: Credential | undefined, { authorize }: HttpOptions): string {
  const query = used && authorize?.(used).query;
  if (!query) return url.href;
  const full = new URL(url);
  for (const [name, value] of Object.entries(query)) full.searchParams.set(name, value);
  return full.href;
}

function headersOf({ url, asked, used }: Outgoing, options: HttpOptions): Record<string, string> {
  return {
    'user-agent': 'syncline',
    ...(asked.schema && { accept: 'application/json' }),
    ...options.headers,
    ...asked.validators?.headersFor(url, used),
    ...asked.headers,
    ...(asked.json !== undefined && { 'content-type': 'application/json' }),
    ...(used && options.authorize?.(used).headers),
  };
}

/** Elsewhere nothing is said but what is wanted: other headers may hold a key as well as a credential does. */
function forStrangers(headers: Record<string, string>): Record<string, string> {
  const wanted = ['user-agent', 'accept', 'if-none-match', 'if-modified-since'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => wanted.includes(name.toLowerCase())));
}

function bodyOf({ json, form }: HttpRequest): { body?: string | URLSearchParams } {
  if (json !== undefined) return { body: JSON.stringify(json) };
  return form ? { body: new URLSearchParams(form) } : {};
}
