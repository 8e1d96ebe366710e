import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { installedProject, npmInstall, packedTarball, withoutNpmVariables } from '../support/package.ts';
import { databaseUrl, onServer } from '../support/postgres.ts';
import { startProcess } from '../support/process.ts';
import { isFullSize } from '../support/size.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = join(root, 'examples');
const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const { devDependencies } = JSON.parse(read(root, 'package.json')) as {
  devDependencies: Record<string, string>;
};

const names = readdirSync(source).filter((name) => existsSync(join(source, name, 'package.json')));

let folder = '';
const run = (command: string, args: string[], cwd = folder, env: NodeJS.ProcessEnv = {}) =>
  startProcess(command, args, { cwd, env: { ...withoutNpmVariables, ...env } }).finished;

async function withEmptyDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  const serverUrl = inject('serverUrl');
  const name = `syncline_example_${randomUUID().replaceAll('-', '')}`;
  await onServer(serverUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  try {
    return await work(databaseUrl(serverUrl, name));
  } finally {
    await onServer(serverUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
  }
}

// Installs the dependencies of all examples: too long for `npm test`.
describe.skipIf(!isFullSize)('examples', () => {
  /** Outside the repository, as npm workspaces: one install for all, added to a copy of the installed package. */
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'syncline-examples-')));
    cpSync(await installedProject(), folder, { recursive: true, verbatimSymlinks: true });
    for (const name of names) {
      cpSync(join(source, name), join(folder, name), {
        recursive: true,
        filter: (path) => !/node_modules|\.next/.test(path.slice(source.length)),
      });
      const config = join(folder, name, 'tsconfig.json');
      if (!existsSync(config)) writeFileSync(config, '{ "extends": "../tsconfig.json" }');
    }
    cpSync(join(source, 'tsconfig.json'), join(folder, 'tsconfig.json'));
    const manifest = {
      private: true,
      workspaces: names,
      dependencies: { syncline: `file:${await packedTarball()}` },
      devDependencies: { typescript: devDependencies['typescript'] },
    };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    await npmInstall(folder);
    // Installing Next and 15 others takes minutes on a busy machine.
  }, 1_200_000);
  afterAll(() => {
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it.each(names)(
    'examples: %s type-checks and prints expected.txt',
    async (name) => {
      const cwd = join(folder, name);
      const checked = await run(join(folder, 'node_modules/.bin/tsc'), ['-p', '.', '--noEmit'], cwd);
      expect(checked).toMatchObject({ code: 0, stdout: '' });
      const ended = await withEmptyDatabase((url) =>
        run('npm', ['run', '--silent', 'example'], cwd, { DATABASE_URL: url }),
      );
      expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: read(source, name, 'expected.txt') });
    },
    900_000,
  );
});

describe('the list of examples', () => {
  it('examples: every example has a line in the table, and a README whose links exist', () => {
    const table = read(source, 'README.md');
    expect(names.filter((name) => !table.includes(`](${name}/)`))).toEqual([]);
    const broken = names.flatMap((name) =>
      [...read(source, name, 'README.md').matchAll(/\]\((?!https?:)([^)#]+)/g)]
        .map(([, path]) => join(name, decodeURI(path as string)))
        .filter((path) => !existsSync(join(source, path))),
    );
    expect(broken).toEqual([]);
  });
});
