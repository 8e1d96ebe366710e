import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDockerfile, readImage } from './dockerfile.ts';
import { configOf, expectCommand, readDeployed, root } from './files.ts';

const { bin, engines, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  bin: { syncline: string };
  engines: { node: string };
  scripts: Record<string, string>;
};
/** What the app image copies from a user's project. */
const projectFiles = ['package.json', 'package-lock.json', '.'];

describe.each(['docker/app.Dockerfile', 'docker/cli.Dockerfile'])('deploy: %s', (path) => {
  const stages = readDockerfile(path);
  const image = readImage(path);

  it('deploy: the image runs the CLI in exec form as a user without privileges', async () => {
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(image.entrypoint).toEqual(['node', `/app/node_modules/syncline/${bin.syncline}`]);
    await expectCommand(image.command);
    expect(image.healthcheck[0]).toBe('node');
  });

  it('deploy: variables are settings, and the exposed ports are the configured ones', () => {
    const { NODE_ENV, ...env } = image.env;
    const { server, metrics } = configOf(env as Record<string, string>);
    expect(NODE_ENV).toBe('production');
    expect(image.exposed).toEqual([String(server.port), String(metrics.port)]);
    // A named port must be free; the default one would fall back to a random port.
    expect(Object.keys(env)).toContain('SYNCLINE_METRICS_PORT');
  });

  it('deploy: every stage uses a supported Node version and copies what exists', () => {
    const ignored = readDeployed(`${path}.dockerignore`).split('\n');
    for (const { base, instructions } of stages) {
      const minMajor = Number(/\d+/.exec(engines.node)?.[0]);
      expect(Number(/^node:(\d+)-bookworm-slim$/.exec(base)?.[1])).toBeGreaterThanOrEqual(minMajor);
      for (const { text } of instructions.filter(({ name }) => name === 'COPY')) {
        const [, from] = /^--from=(\S+)/.exec(text) ?? [];
        const sources = text
          .replace(/^--from=\S+ /, '')
          .split(' ')
          .slice(0, -1);
        if (from !== undefined) expect(stages.map(({ name }) => name)).toContain(from);
        else if (path.includes('app')) for (const source of sources) expect(projectFiles).toContain(source);
        else
          for (const source of sources) {
            expect({ source, exists: existsSync(join(root, source)) }).toEqual({ source, exists: true });
            expect(ignored).toContain(`!${source}`);
          }
      }
      for (const { text } of instructions.filter(({ name }) => name === 'RUN'))
        for (const [, script] of text.matchAll(/npm run (\S+)/g))
          expect(scripts).toHaveProperty(script ?? '');
    }
  });

  it('deploy: secrets and installed packages of the build machine stay out of the image', () => {
    const ignored = readDeployed(`${path}.dockerignore`).split('\n');
    const patterns = path.includes('cli')
      ? ['*']
      : ['node_modules', '**/.env*', '**/*.key', '.syncline', '.git'];
    expect(ignored).toEqual(expect.arrayContaining(patterns));
  });
});
