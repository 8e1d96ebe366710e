import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The outside system: an issue tracker that lists issues by time of last change, oldest first, ten per page. */
export async function startTracker() {
  const issues = Array.from({ length: 25 }, (_, i) => ({
    id: i + 1,
    title: `Issue ${i + 1}`,
    state: 'open',
    // Four issues share each time, so a page ends between issues of the same time.
    updated_at: new Date(Date.UTC(2025, 0, 6, 9, Math.floor(i / 4))).toISOString(),
  }));

  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '/', 'http://tracker').searchParams;
    const since = query.get('since') ?? '';
    const page = Number(query.get('page') ?? 1);
    const found = issues
      .filter((issue) => issue.updated_at >= since)
      .sort((a, b) => a.updated_at.localeCompare(b.updated_at));
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(found.slice((page - 1) * 10, page * 10)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close(id: number) {
      const issue = issues.find((one) => one.id === id);
      if (issue) Object.assign(issue, { state: 'closed', updated_at: '2025-01-06T10:00:00.000Z' });
    },
    stop: () => server.close(),
  };
}
