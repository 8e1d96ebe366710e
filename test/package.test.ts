import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { installedProject, withoutNpmVariables } from './support/package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const env = { ...process.env, ...withoutNpmVariables };

describe('the package', () => {
  it('package: installs from npm pack into an empty project with its command, library and types', async () => {
    const folder = await installedProject();
    const inProject = (command: string, ...args: string[]) =>
      execFileSync(command, args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

    expect(inProject('npx', '--no-install', 'syncline', '--help')).toContain('Usage: syncline');
    const used = inProject(
      'node',
      '--input-type=module',
      '-e',
      `
      import { createSyncline, SynclineError } from 'syncline';
      try { createSyncline({ scheduler: { tickInterval: 60 } }) } catch (error) { console.log(error instanceof SynclineError, error.hint) }`,
    );
    expect(used.trim()).toBe('true Did you mean scheduler.tickIntervalSeconds?');

    writeFileSync(
      join(folder, 'use.ts'),
      `
      import { createSyncline, defineConfig } from 'syncline';
      const syncline = createSyncline(defineConfig({ database: 'postgres://localhost/app', scheduler: { batchSize: 100 } }));
      const scheduled: number = (await syncline.tick()).scheduled;
      // @ts-expect-error: the API has no any
      const wrong: string = (await syncline.connections.get('id')).sync.lastJitterSeconds;
      // @ts-expect-error: the types reject unknown options
      createSyncline({ scheduler: { tickInterval: 60 } });
      void scheduled; void wrong;`,
    );
    inProject(
      'node',
      join(root, 'node_modules/typescript/bin/tsc'),
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      '',
      'use.ts',
    );
  });
});
