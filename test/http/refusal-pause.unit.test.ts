import { expect, it } from 'vitest';
import { Problem } from '../../src/http/problem.ts';
import { createRefusalPause } from '../../src/http/refusal-pause.ts';
import { systemPorts } from '../../src/platform/ports.ts';

const longMs = 3_600_000;
const never = new AbortController().signal;

/** Whether the pause resolves without a timer. */
async function isImmediate(pause: Promise<void>): Promise<boolean> {
  let isDone = false;
  void pause.then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return isDone;
}

it('refusals: responses to exceeded limits are delayed, others are not', async () => {
  const pause = createRefusalPause(longMs, systemPorts, never);
  expect(await isImmediate(pause(new Problem('TOO_MANY', 'too many', { status: 503 })))).toBe(false);
  expect(await isImmediate(pause(new Problem('UNAVAILABLE', 'no database')))).toBe(true);
  expect(await isImmediate(pause(new Problem('NOT_FOUND', 'nothing here')))).toBe(true);
});

it('refusals: at most 1,000 are delayed at a time, further ones are sent immediately', async () => {
  const pause = createRefusalPause(longMs, systemPorts, never);
  const refusal = new Problem('TOO_MANY', 'too many');
  for (let i = 0; i < 1000; i++) void pause(refusal);
  expect(await isImmediate(pause(refusal))).toBe(true);
});

it('refusals: closing the service ends the delays', async () => {
  const closing = new AbortController();
  const pause = createRefusalPause(longMs, systemPorts, closing.signal);
  const delayed = pause(new Problem('TOO_MANY', 'too many'));
  expect(await isImmediate(delayed)).toBe(false);
  closing.abort();
  expect(await isImmediate(delayed)).toBe(true);
});
