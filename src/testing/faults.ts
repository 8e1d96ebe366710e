export const faultKinds = [
  'answered with 500',
  'answered with 429',
  'answered with 401',
  'answered with 410',
  'cut off by a connection reset',
  'answered with half a body',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** May fail a run permanently; all others must be transient. */
export const mayEndRun: ReadonlySet<FaultKind> = new Set(['answered with 401', 'answered with 410']);

/** Lost responses reach the provider; rejected requests do not. */
export async function faulty(kind: FaultKind, send: () => Promise<Response>): Promise<Response> {
  switch (kind) {
    case 'answered with 500':
      return refusal(500, 'Internal Server Error');
    case 'answered with 429':
      return refusal(429, 'Too Many Requests', { 'retry-after': '1' });
    case 'answered with 401':
      return refusal(401, 'Unauthorized');
    case 'answered with 410':
      return refusal(410, 'Gone');
    case 'cut off by a connection reset':
      await (await send()).body?.cancel();
      throw connectionReset();
    case 'answered with half a body':
      return halfOf(await send());
  }
}

const refusal = (status: number, message: string, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ message }), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });

/** As Node's fetch throws it. */
function connectionReset(): TypeError {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  return new TypeError('fetch failed', { cause });
}

async function halfOf(response: Response): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  // An empty body cannot be truncated.
  if (bytes.length === 0) throw connectionReset();
  const half = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes.slice(0, Math.floor(bytes.length / 2))),
    pull: (controller) => controller.error(new TypeError('terminated')),
  });
  return new Response(half, { status: response.status, headers: [...response.headers] });
}
