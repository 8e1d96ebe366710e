/** `npm test` runs long tests small; `npm run verify` runs them at full size. */
export const isFullSize = process.env['TEST_SIZE'] === 'full';

export const sized = (full: number, small: number) => (isFullSize ? full : small);

let offset = 0;

/** At small size one in `n` values, from another start on each call, so that many calls use every value. */
export function sampled<T>(values: readonly T[], n: number): T[] {
  const start = offset++;
  return values.filter((_, i) => isFullSize || (i + start) % n === 0);
}
