import { Problem } from './problem.ts';

export interface BodyBudget {
  open(): { take(bytes: number): void; release(): void };
}

/** Larger bodies share half of the budget, so that slow senders cannot block small ones. */
const largeBytes = 256 * 1024;
const sizeIfLarge = (bytes: number) => (bytes > largeBytes ? bytes : 0);

export function createBodyBudget(totalBytes: number): BodyBudget {
  let taken = 0;
  let takenByLarge = 0;
  return {
    open() {
      let own = 0;
      return {
        take(bytes) {
          const large = takenByLarge - sizeIfLarge(own) + sizeIfLarge(own + bytes);
          if (taken + bytes > totalBytes || large > totalBytes / 2)
            throw new Problem('TOO_MANY', 'The memory for request bodies is in use.', {
              status: 503,
              headers: { 'retry-after': '5' },
            });
          taken += bytes;
          takenByLarge = large;
          own += bytes;
        },
        release() {
          taken -= own;
          takenByLarge -= sizeIfLarge(own);
          own = 0;
        },
      };
    },
  };
}
