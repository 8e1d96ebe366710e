/** `npm test` runs long tests small; `npm run verify` runs them at full size. */
export const isFullSize = process.env['TEST_SIZE'] === 'full';

export const sized = (full: number, small: number) => (isFullSize ? full : small);
