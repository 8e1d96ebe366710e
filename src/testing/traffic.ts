/** One JSON line in the file. */
export interface Exchange {
  request: RecordedRequest;
  response?: RecordedResponse;
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

/** JSON, else text, else base64. */
export interface RecordedBody {
  json?: unknown;
  text?: string;
  base64?: string;
}

export interface CapturedRequest {
  method: string;
  url: string;
  headers: Headers;
  body: Uint8Array | undefined;
}

export async function captureRequest(...[input, init]: Parameters<typeof fetch>): Promise<CapturedRequest> {
  const inputRequest = typeof input === 'object' && 'method' in input ? input : undefined;
  const url = inputRequest ? inputRequest.url : String(input);
  const request = new Request(url, {
    method: 'POST',
    body: (init?.body ?? null) as NonNullable<RequestInit['body']> | null,
  });
  const source = inputRequest && init?.body === undefined ? inputRequest.clone() : request;
  const headers = new Headers((init?.headers ?? inputRequest?.headers) as RequestInit['headers']);
  const type = request.headers.get('content-type');
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  const bytes = new Uint8Array(await source.arrayBuffer());
  return {
    method: (init?.method ?? inputRequest?.method ?? 'GET').toUpperCase(),
    url: new URL(url).href,
    headers,
    body: bytes.length === 0 ? undefined : bytes,
  };
}

/** `Response` rejects a body for these statuses. */
const bodiless = new Set([101, 103, 204, 205, 304]);

export function responseOf({ status, headers, ...body }: RecordedResponse): Response {
  return new Response(bodiless.has(status) ? null : bytesOf(body), { status, headers });
}

function bytesOf({ json, text, base64 }: RecordedBody): Uint8Array<ArrayBuffer> | string | null {
  if (json !== undefined) return JSON.stringify(json);
  if (base64 !== undefined) return new Uint8Array(Buffer.from(base64, 'base64'));
  return text ?? null;
}
