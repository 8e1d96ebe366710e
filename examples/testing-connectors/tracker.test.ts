import assert from 'node:assert/strict';
import { it } from 'node:test';
import { connectInMemory, crashTest, replayTraffic } from 'syncline/testing';
import { tracker } from './tracker.ts';

const credential = { type: 'api_key', key: 'open-sesame' } as const;
const timeAt = (minute: number) => new Date(Date.UTC(2025, 0, 6, 9, minute)).toISOString();

/** A provider in the test process. The connector calls it through `context.fetch`. */
function createProvider() {
  // Four issues share each time, so a page ends between issues of the same time.
  const issues = Array.from({ length: 25 }, (_, i) => ({
    id: i + 1,
    title: `Issue ${i + 1}`,
    updated_at: timeAt(Math.floor(i / 4)),
  }));
  const respond: typeof fetch = async (input) => {
    const query = new URL(String(input)).searchParams;
    const page = Number(query.get('page') ?? 1);
    const found = issues.filter((issue) => issue.updated_at >= (query.get('since') ?? ''));
    return Response.json(found.slice((page - 1) * 10, page * 10));
  };
  return { issues, fetch: respond };
}

it('finds every issue once', async () => {
  const connection = connectInMemory(tracker, { credential, fetch: createProvider().fetch });
  await connection.sync();
  await connection.sync();
  assert.equal(connection.signals.length, 25);
  assert.deepEqual(connection.cursor, { since: timeAt(6) });
});

it('finds an issue that changed after the first sync', async () => {
  const provider = createProvider();
  const connection = connectInMemory(tracker, { credential, fetch: provider.fetch });
  await connection.sync();
  provider.issues.push({ id: 7, title: 'Renamed', updated_at: timeAt(30) });
  const runs = await connection.sync();
  assert.equal(runs.at(-1)?.stored, 1);
});

it('asks for a new credential when the provider rejects the token', async () => {
  const fetch = async () => new Response('unknown token', { status: 401 });
  const connection = connectInMemory(tracker, { credential, fetch });
  const run = await connection.run();
  assert.equal(run.outcome, 'failed');
  assert.equal(connection.status, 'needs_auth');
});

it('waits as long as the provider requests', async () => {
  const fetch = async () => new Response('slow down', { status: 429, headers: { 'retry-after': '90' } });
  const run = await connectInMemory(tracker, { credential, fetch }).run();
  assert.equal(run.outcome, 'requeued');
  assert.equal(run.error?.kind, 'rate_limited');
  assert.ok(Number(run.retryAfter) >= Date.now() + 80_000);
});

it('reads the responses that were recorded from the real provider', async () => {
  // Recorded with: syncline connector test ./tracker.ts --credential-from-env TOKEN --record tracker.jsonl
  const replay = replayTraffic('tracker.jsonl');
  const connection = connectInMemory(tracker, { credential, fetch: replay });
  await connection.sync();
  assert.equal(connection.signals.length, 25);
});

it('loses and duplicates nothing when the process dies at any request or page', async () => {
  // Throws at the first round that differs, with its name and seed.
  const report = await crashTest(tracker, { credential, fetch: createProvider().fetch, expected: 25 });
  assert.ok(report.crashes > 0);
});
