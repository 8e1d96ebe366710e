/** `npm test` runs long tests small; `npm run verify` runs them at full size. */
export const isFullSize = process.env['TEST_SIZE'] === 'full';

export const sized = (full: number, small: number) => (isFullSize ? full : small);

let offset = 0;

/** At small size one in `n` values, at least one, from another start on each call: many calls use every value. */
export function sampled<T>(values: readonly T[], n: number): T[] {
  const start = offset++;
  const step = Math.min(n, values.length);
  return values.filter((_, i) => isFullSize || (i + start) % step === 0);
}
