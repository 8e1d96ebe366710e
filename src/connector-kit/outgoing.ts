import type { SyncContext } from '../contract/connector.ts';
import type { Credential } from '../contract/credential.ts';
import { PermanentError } from '../contract/errors.ts';
import { redactNamed } from '../values/redact.ts';
import type { HttpOptions, HttpRequest } from './http.ts';
import { publicAgent, requirePublicHost } from './network.ts';
import { readableUrl } from './readable-url.ts';

export interface Outgoing {
  method: string;
  url: URL;
  request: HttpRequest;
  credential: Credential | undefined;
}

const maxRedirects = 5;

/** Drops credentials across origins. */
export async function sendFollowingRedirects(
  outgoing: Outgoing,
  transport: {
    context: Pick<SyncContext, 'fetch'>;
    options: HttpOptions;
    base: URL;
    redact: (text: string) => string;
    signal: AbortSignal;
  },
): Promise<Response> {
  const { context, options, base, redact, signal } = transport;
  const { method, url: start, request, credential } = outgoing;
  let url = start;
  for (let hops = 0; hops <= maxRedirects; hops++) {
    if (options.network === 'public') requirePublicHost(url);
    const isSameOrigin = url.origin === base.origin;
    const headers = headersOf(outgoing, options);
    const response = await context.fetch(
      isSameOrigin ? urlWithCredential(url, credential, options) : url.href,
      {
        method,
        signal,
        redirect: 'manual',
        ...bodyOf(request),
        headers: isSameOrigin ? headers : crossOriginHeaders(headers),
        ...(options.network === 'public' && { dispatcher: publicAgent }),
      } as unknown as RequestInit,
    );
    const location = response.headers.get('location');
    const isRedirect = [301, 302, 303, 307, 308].includes(response.status) && location !== null;
    if (!isRedirect || (method !== 'GET' && method !== 'HEAD')) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, url.href) || !/^https?:$/.test(new URL(location, url).protocol))
      throw new PermanentError(
        `${method} ${readableUrl(start, redact)} redirects to ` +
          `"${redactNamed(redact(location)).slice(0, 200)}", which is not a URL.`,
      );
    url = new URL(location, url);
  }
  throw new PermanentError(`${method} ${readableUrl(start, redact)} exceeds ${maxRedirects} redirects.`);
}

function urlWithCredential(url: URL, credential: Credential | undefined, { authorize }: HttpOptions): string {
  const query = credential && authorize?.(credential).query;
  if (!query) return url.href;
  const authorizedUrl = new URL(url);
  for (const [name, value] of Object.entries(query)) authorizedUrl.searchParams.set(name, value);
  return authorizedUrl.href;
}

function headersOf({ url, request, credential }: Outgoing, options: HttpOptions): Record<string, string> {
  return {
    'user-agent': 'syncline',
    ...(request.schema && { accept: 'application/json' }),
    ...options.headers,
    ...request.validators?.headersFor(url, credential),
    ...request.headers,
    ...(request.json !== undefined && { 'content-type': 'application/json' }),
    ...(credential && options.authorize?.(credential).headers),
  };
}

/** Custom headers may contain keys. */
function crossOriginHeaders(headers: Record<string, string>): Record<string, string> {
  const allowed = ['user-agent', 'accept', 'if-none-match', 'if-modified-since'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => allowed.includes(name.toLowerCase())));
}

function bodyOf({ json, form }: HttpRequest): { body?: string | URLSearchParams } {
  if (json !== undefined) return { body: JSON.stringify(json) };
  return form ? { body: new URLSearchParams(form) } : {};
}
