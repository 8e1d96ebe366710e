const firstRetryMs = 250;
/** Short enough that work goes on within seconds of the database's return. */
const maxRetryMs = 4000;

/** Doubles up to a limit; half of it is random, so that many processes do not come back in step. */
export function retryDelayMs(failures: number, random: number): number {
  const fullMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures, 10));
  return fullMs / 2 + (fullMs / 2) * random;
}
