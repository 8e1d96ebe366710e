import fc from 'fast-check';

const given = process.env['TEST_SEED'];

/**
 * What all random inputs of the tests follow from. It stays the same, so that a run that fails was broken by what was changed
 * since; with TEST_SEED=random each run tries other inputs.
 */
export const seed = given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given ?? 20_261_116);

if (!Number.isSafeInteger(seed)) throw new Error(`TEST_SEED is ${given}; give a whole number, or "random".`);

fc.configureGlobal({ seed });
