import { expect, test } from 'vitest';
import { openEventStream } from '../../src/http/event-stream.ts';

const event = { event: 'signal', id: 'c1', data: { text: 'a\nb' } };
const large = { event: 'signal', data: 'x'.repeat(100_000) };

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

test('an event is one block, however its data is broken into lines', async () => {
  const stream = openEventStream(() => {});
  await stream.send({ ...event, retry: 2000 });
  stream.beat();
  stream.close();
  expect(await textOf(stream.body)).toBe(
    'event: signal\nid: c1\nretry: 2000\ndata: {"text":"a\\nb"}\n\n:\n\n',
  );
});

test('a cursor cannot break out of its line', async () => {
  const stream = openEventStream(() => {});
  await stream.send({ ...event, id: 'c1\nevent: hello' });
  stream.close();
  expect(await textOf(stream.body)).toContain('id: c1event: hello\n');
});

test('no more than so much is held for a client that does not read, and the rest waits', async () => {
  const stream = openEventStream(() => {});
  let offered = 0;
  while (stream.offer(large)) offered++;
  expect(offered).toBeLessThan(5);
  expect(stream.beat()).toBe(false);
  let isSent = false;
  const sent = stream.send(event).then(() => {
    isSent = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isSent).toBe(false);
  const reader = stream.body.getReader();
  for (let i = 0; i < offered; i++) await reader.read();
  await sent;
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('id: c1');
});

test('whoever waits for room is let go when the client has left', async () => {
  let isGone = false;
  const stream = openEventStream(() => {
    isGone = true;
  });
  while (stream.offer(large));
  const sent = stream.send(event);
  await stream.body.cancel();
  await sent;
  expect(isGone).toBe(true);
  stream.close();
  expect(stream.offer(event)).toBe(false);
});
