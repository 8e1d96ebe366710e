const firstRetryMs = 250;
/** Work resumes soon after the database is back. */
const maxRetryMs = 4000;

/** Half is jitter: processes do not retry in step. */
export function retryDelayMs(failures: number, random: number): number {
  const fullMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures, 10));
  return fullMs / 2 + (fullMs / 2) * random;
}
