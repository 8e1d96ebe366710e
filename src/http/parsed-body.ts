import type { IncomingMessage } from 'node:http';
import type { Bindings } from './bindings.ts';

/** By body parsers and their `verify` callbacks. */
export interface ParsedRequest extends IncomingMessage {
  body?: unknown;
  rawBody?: unknown;
}

interface RestoredBody {
  request: Request;
  body: Bindings['body'];
}

export function restoreBody(request: Request, incoming: ParsedRequest): RestoredBody {
  if (!hasBody(incoming) || !(incoming.readableDidRead || incoming.readableEnded))
    return { request, body: undefined };
  const { rawBody, body } = incoming;
  const bytes = [rawBody, body].find((value) => value instanceof Uint8Array);
  if (bytes) return { request: withBody(request, Uint8Array.from(bytes)), body: undefined };
  const text = textOf(body, request.headers.get('content-type') ?? '');
  return text === undefined
    ? { request, body: 'lost' }
    : { request: withBody(request, text), body: 'parsed' };
}

const hasBody = ({ headers, method }: IncomingMessage) =>
  method !== 'GET' &&
  method !== 'HEAD' &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** Exact for JSON, which the API parses too. */
function textOf(body: unknown, contentType: string): string | undefined {
  if (body === undefined || typeof body === 'string') return body;
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return formOf(body);
  try {
    return JSON.stringify(body);
  } catch {
    return undefined;
  }
}

function formOf(body: unknown): string | undefined {
  const fields = Object.entries(body ?? {});
  return fields.every(([, value]) => typeof value === 'string')
    ? new URLSearchParams(fields as [string, string][]).toString()
    : undefined;
}

function withBody(
  { url, method, headers: sent, signal }: Request,
  body: string | Uint8Array<ArrayBuffer>,
): Request {
  const headers = new Headers(sent);
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name);
  return new Request(url, { method, headers, body, signal });
}
