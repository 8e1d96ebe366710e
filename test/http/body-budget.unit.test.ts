import { expect, it } from 'vitest';
import { createBodyBudget } from '../../src/http/body-budget.ts';
import { defaultLimits } from '../../src/http/context.ts';

const { deliveryBytes, deliveriesBytes } = defaultLimits;
const chunkBytes = 64 * 1024;

/** Takes the bytes in chunks, as they arrive. */
function take(body: { take(bytes: number): void }, bytes: number): boolean {
  try {
    for (let taken = 0; taken < bytes; taken += chunkBytes) body.take(Math.min(chunkBytes, bytes - taken));
    return true;
  } catch {
    return false;
  }
}

it('webhooks: large deliveries leave memory for deliveries of normal size', () => {
  const budget = createBodyBudget(deliveriesBytes);
  const large = Array.from({ length: 8 }, () => budget.open());
  expect(large.map((body) => take(body, deliveryBytes)).filter(Boolean)).toHaveLength(2);
  const normal = Array.from({ length: 100 }, () => budget.open());
  expect(normal.every((body) => take(body, 100_000))).toBe(true);
  for (const body of [...large, ...normal]) body.release();
  // All memory is released.
  expect(take(budget.open(), deliveryBytes) && take(budget.open(), deliveryBytes)).toBe(true);
});

it('webhooks: all deliveries together stay within the budget', () => {
  const budget = createBodyBudget(deliveriesBytes);
  const taken = Array.from({ length: 2000 }, () => take(budget.open(), 100_000)).filter(Boolean);
  expect(taken).toHaveLength(Math.floor(deliveriesBytes / 100_000));
});
