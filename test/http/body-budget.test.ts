import { expect, it } from 'vitest';
import { createRoom } from '../../src/http/body-budget.ts';
import { defaultLimits } from '../../src/http/context.ts';

const { deliveryBytes, deliveriesBytes } = defaultLimits;
const piece = 64 * 1024;

/** As many pieces as there are, one after the other, as they come in. */
function take(held: { take(bytes: number): void }, bytes: number): boolean {
  try {
    for (let taken = 0; taken < bytes; taken += piece) held.take(Math.min(piece, bytes - taken));
    return true;
  } catch {
    return false;
  }
}

it('webhooks: however many large deliveries come in, there is room for those of the usual size', () => {
  const room = createRoom(deliveriesBytes);
  const large = Array.from({ length: 8 }, () => room.open());
  expect(large.map((held) => take(held, deliveryBytes)).filter(Boolean)).toHaveLength(2);
  const usual = Array.from({ length: 100 }, () => room.open());
  expect(usual.every((held) => take(held, 100_000))).toBe(true);
  for (const held of [...large, ...usual]) held.giveBack();
  // All of it is there again.
  expect(take(room.open(), deliveryBytes) && take(room.open(), deliveryBytes)).toBe(true);
});

it('webhooks: all of them together take no more than there is', () => {
  const room = createRoom(deliveriesBytes);
  const taken = Array.from({ length: 2000 }, () => take(room.open(), 100_000)).filter(Boolean);
  expect(taken).toHaveLength(Math.floor(deliveriesBytes / 100_000));
});
