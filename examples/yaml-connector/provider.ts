import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The outside system: an issue tracker with a bearer token and numbered pages. */
export async function startTracker(token: string) {
  const issues = Array.from({ length: 25 }, (_, i) => ({
    id: i + 1,
    title: `Issue ${i + 1}`,
    state: i % 5 === 0 ? 'closed' : 'open',
    updated_at: new Date(Date.UTC(2025, 0, 6, 9, i)).toISOString(),
  }));
  const labels = ['bug', 'feature'].map((name) => ({ name, created_at: '2025-01-06T08:00:00.000Z' }));

  const server = createServer((request, response) => {
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${token}`) return send(401, { message: 'unknown token' });
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://tracker');
    if (pathname === '/projects/apollo/labels') return send(200, labels);
    if (pathname !== '/projects/apollo/issues') return send(404, { message: 'not found' });
    const since = searchParams.get('since') ?? '';
    const size = Number(searchParams.get('per_page'));
    const start = (Number(searchParams.get('page')) - 1) * size;
    const found = issues.filter((issue) => issue.updated_at >= since);
    send(200, { items: found.slice(start, start + size) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}
