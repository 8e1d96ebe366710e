import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    // Files mostly wait for Postgres and for processes of their own, so more run at once than there are cores.
    maxWorkers: 4,
    // Generous, because a shared machine may be slow; no test waits for time to pass.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
