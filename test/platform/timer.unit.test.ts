import { expect, it } from 'vitest';
import { startTimer } from '../../src/platform/timer.ts';
import { testPorts } from '../support/clock.ts';

it('timer: calls the work when its time is over', async () => {
  const ports = testPorts();
  const called = new Promise<void>((resolve) => startTimer(ports, 1000, resolve));
  expect(ports.sleeps).toEqual([1000]);
  ports.wake();
  await called;
});

it('timer: a cancelled timer does not call the work', async () => {
  const ports = testPorts();
  let calls = 0;
  const cancel = startTimer(ports, 1000, () => calls++);
  cancel();
  await new Promise(setImmediate);
  expect(calls).toBe(0);
});
