import fc from 'fast-check';

const configured = process.env['TEST_SEED'];

/** Seed of all random test inputs. TEST_SEED=random varies it. */
export const seed =
  configured === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(configured ?? 20_261_116);

if (!Number.isSafeInteger(seed))
  throw new Error(`TEST_SEED is ${configured}; it must be a whole number or "random".`);

fc.configureGlobal({ seed });
