import { defineConfig } from 'vitest/config';

/** They take the whole machine, and time how long it takes to recover: they run when everything else is done. */
const alone = ['test/chaos/**/*.test.ts', 'test/simulation/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/seed.ts'],
    // Generous, because a shared machine may be slow; no test waits for time to pass.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        // Files mostly wait for Postgres and for processes of their own, so more run at once than there are cores.
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: alone,
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'whole', include: alone, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
