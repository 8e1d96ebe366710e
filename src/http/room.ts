import { Problem } from './problem.ts';

/** Room in memory for what comes in: counted by what has come, not by what was announced. */
export interface Room {
  /** What is taken through it is given back together. */
  open(): { take(bytes: number): void; giveBack(): void };
}

export function createRoom(totalBytes: number): Room {
  let taken = 0;
  return {
    open() {
      let own = 0;
      return {
        take(bytes) {
          if (taken + bytes > totalBytes)
            throw new Problem('TOO_MANY', 'More is being sent than the service can hold at once.', {
              status: 503,
              headers: { 'retry-after': '5' },
            });
          taken += bytes;
          own += bytes;
        },
        giveBack() {
          taken -= own;
          own = 0;
        },
      };
    },
  };
}
