import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Need no Postgres. */
const unit = ['test/**/*.unit.test.ts'];
/** Replace the network and the clock of their process, or run a fleet for a minute. */
const isolated = ['test/chaos/**/*.test.ts', 'test/simulation/**/*.test.ts'];

/** `npm run verify` repeats only the tests whose size changes. */
const isFullSize = process.env['TEST_SIZE'] === 'full';
const isSized = (file: string) =>
  file.endsWith('.test.ts') && /support\/size\.ts|fuzz-rounds\.ts/.test(readFileSync(`test/${file}`, 'utf8'));
const sized = () =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter(isSized)
    .map((file) => `test/${file}`);

/** Mostly wait for processes, leases and installs: started last, they would keep the cores idle. */
const longest = [
  'chaos/',
  'simulation/',
  'runtime/poison-process',
  'guides/',
  'examples/',
  'budgets/fleet',
  'package.test',
  'runtime/network',
  'runtime/zombie',
  'runtime/faults',
  'hostile/sockets',
  'dev/dev.test',
  'browser/dashboard',
  'security/canaries',
  'runtime/deletion',
  'runtime/crash',
  'cli/commands',
  'cli/memory',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((name) => moduleId.includes(`/test/${name}`));
      return at === -1 ? longest.length : at;
    };
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

const postgres = { globalSetup: ['test/support/postgres.ts'] };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/seed.ts', 'test/support/hooks.ts'],
    // Transformed files, by content: a second run starts a second earlier.
    experimental: { fsModuleCache: true },
    // Fewer garbage collections of short-lived objects.
    execArgv: ['--max-semi-space-size=64'],
    // Loading the engine for each file takes as long as its tests.
    isolate: false,
    // Generous, because a shared machine may be slow; no test waits for time to pass.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: isFullSize ? sized().filter((file) => file.endsWith('.unit.test.ts')) : unit,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Files mostly wait for Postgres and for processes of their own, so more run in parallel than there are cores.
        test: {
          ...postgres,
          name: 'database',
          include: isFullSize ? sized() : ['test/**/*.test.ts'],
          exclude: [...isolated, ...unit],
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...postgres,
          name: 'isolated',
          include: isolated,
          isolate: true,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
