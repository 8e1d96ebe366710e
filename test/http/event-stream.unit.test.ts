import { expect, test } from 'vitest';
import { openEventStream } from '../../src/http/event-stream.ts';

const event = { event: 'signal', id: 'c1', data: { text: 'a\nb' } };
const large = { event: 'signal', data: 'x'.repeat(100_000) };

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

test('event stream: an event is one block, also if its data contains line breaks', async () => {
  const stream = openEventStream(() => {});
  await stream.send({ ...event, retry: 2000 });
  stream.heartbeat();
  stream.close();
  expect(await textOf(stream.body)).toBe(
    'event: signal\nid: c1\nretry: 2000\ndata: {"text":"a\\nb"}\n\n:\n\n',
  );
});

test('event stream: a line break in an id cannot inject a field', async () => {
  const stream = openEventStream(() => {});
  await stream.send({ ...event, id: 'c1\nevent: hello' });
  stream.close();
  expect(await textOf(stream.body)).toContain('id: c1event: hello\n');
});

test('event stream: buffering for a slow client is limited, and send() waits', async () => {
  const stream = openEventStream(() => {});
  let buffered = 0;
  while (stream.trySend(large)) buffered++;
  expect(buffered).toBeLessThan(5);
  expect(stream.heartbeat()).toBe(false);
  let isSent = false;
  const sent = stream.send(event).then(() => {
    isSent = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isSent).toBe(false);
  const reader = stream.body.getReader();
  for (let i = 0; i < buffered; i++) await reader.read();
  await sent;
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('id: c1');
});

test('event stream: send() returns when the client disconnects', async () => {
  let isClosed = false;
  const stream = openEventStream(() => {
    isClosed = true;
  });
  while (stream.trySend(large));
  const sent = stream.send(event);
  await stream.body.cancel();
  await sent;
  expect(isClosed).toBe(true);
  stream.close();
  expect(stream.trySend(event)).toBe(false);
});
