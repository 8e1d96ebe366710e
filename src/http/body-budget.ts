import { Problem } from './problem.ts';

/** Room in memory for what comes in: counted by what has come, not by what was announced. */
export interface Room {
  /** What is taken through it is given back together. */
  open(): { take(bytes: number): void; giveBack(): void };
}

/** Deliveries are a few kilobytes. Anybody can send large ones, slowly: those have half of the room, so that the usual ones get in. */
const largeBytes = 256 * 1024;
const sizeIfLarge = (bytes: number) => (bytes > largeBytes ? bytes : 0);

export function createRoom(totalBytes: number): Room {
  let taken = 0;
  let takenByLarge = 0;
  return {
    open() {
      let own = 0;
      return {
        take(bytes) {
          const large = takenByLarge - sizeIfLarge(own) + sizeIfLarge(own + bytes);
          if (taken + bytes > totalBytes || large > totalBytes / 2)
            throw new Problem('TOO_MANY', 'More is being sent than the service can hold at once.', {
              status: 503,
              headers: { 'retry-after': '5' },
            });
          taken += bytes;
          takenByLarge = large;
          own += bytes;
        },
        giveBack() {
          taken -= own;
          takenByLarge -= sizeIfLarge(own);
          own = 0;
        },
      };
    },
  };
}
