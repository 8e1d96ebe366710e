import { expect, it } from 'vitest';
import { createLoopDelay } from '../../src/http/loop-delay.ts';
import { testPorts } from '../support/clock.ts';

it('loop delay: only a delay in five samples in a row counts, and aborting ends the sampling', async () => {
  const ports = testPorts();
  const closing = new AbortController();
  const loopDelayMs = createLoopDelay(ports, closing.signal);
  const seen = [loopDelayMs()];
  for (let sample = 0; sample < 5; sample++) {
    await new Promise(setImmediate);
    // Each timer of 20 ms fires 300 ms late.
    ports.advance(320);
    ports.wake();
    await new Promise(setImmediate);
    seen.push(loopDelayMs());
  }
  expect(seen).toEqual([0, 0, 0, 0, 0, 300]);
  closing.abort();
  await new Promise(setImmediate);
  const { length } = ports.sleeps;
  ports.wake();
  await new Promise(setImmediate);
  expect(ports.sleeps).toHaveLength(length);
});
