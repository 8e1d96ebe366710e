import { expect, it } from 'vitest';
import { Problem } from '../../src/http/problem.ts';
import { createRefusalPause } from '../../src/http/refusal-pause.ts';

const longMs = 3_600_000;

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
  const pause = createRefusalPause(longMs);
  expect(await isImmediate(pause(new Problem('TOO_MANY', 'too many', { status: 503 })))).toBe(false);
  expect(await isImmediate(pause(new Problem('UNAVAILABLE', 'no database')))).toBe(true);
  expect(await isImmediate(pause(new Problem('NOT_FOUND', 'nothing here')))).toBe(true);
});

it('refusals: at most 1,000 are delayed at a time, further ones are sent immediately', async () => {
  const pause = createRefusalPause(longMs);
  const refusal = new Problem('TOO_MANY', 'too many');
  for (let i = 0; i < 1000; i++) void pause(refusal);
  expect(await isImmediate(pause(refusal))).toBe(true);
});
