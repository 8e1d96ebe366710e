/** One request and what came of it, as it is written to a file: one line of JSON each. */
export interface Exchange {
  request: RecordedRequest;
  response?: RecordedResponse;
  /** Where no answer came: what fetch threw. */
  error?: string;
}

export interface RecordedRequest extends RecordedBody {
  method: string;
  url: string;
  headers: Record<string, string>;
}

export interface RecordedResponse extends RecordedBody {
  status: number;
  headers: Record<string, string>;
}

/** As readable as it can be: JSON as such, else text, else base64. */
export interface RecordedBody {
  json?: unknown;
  text?: string;
  base64?: string;
}

/** A request as fetch was called with it. */
export interface AskedRequest {
  method: string;
  url: string;
  headers: Headers;
  body: Uint8Array | undefined;
}

export async function askedRequest(...[input, init]: Parameters<typeof fetch>): Promise<AskedRequest> {
  const given = typeof input === 'object' && 'method' in input ? input : undefined;
  const url = given ? given.url : String(input);
  const request = new Request(url, {
    method: 'POST',
    body: (init?.body ?? null) as NonNullable<RequestInit['body']> | null,
  });
  const own = given && init?.body === undefined ? given.clone() : request;
  const headers = new Headers((init?.headers ?? given?.headers) as RequestInit['headers']);
  const type = request.headers.get('content-type');
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  const bytes = new Uint8Array(await own.arrayBuffer());
  return {
    method: (init?.method ?? given?.method ?? 'GET').toUpperCase(),
    url: new URL(url).href,
    headers,
    body: bytes.length === 0 ? undefined : bytes,
  };
}

/** Answers without a body, which the platform insists on. */
const bodiless = new Set([101, 103, 204, 205, 304]);

export function responseOf({ status, headers, ...body }: RecordedResponse): Response {
  return new Response(bodiless.has(status) ? null : bytesOf(body), { status, headers });
}

function bytesOf({ json, text, base64 }: RecordedBody): Uint8Array<ArrayBuffer> | string | null {
  if (json !== undefined) return JSON.stringify(json);
  if (base64 !== undefined) return new Uint8Array(Buffer.from(base64, 'base64'));
  return text ?? null;
}
