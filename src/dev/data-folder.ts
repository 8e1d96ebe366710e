import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SynclineError } from '../contract/errors.ts';
import { accountMay, unprivilegedAccount } from './binaries.ts';

/**
 * Where the embedded Postgres keeps its data: `.syncline/` of the working folder. As root Postgres runs as another user,
 * who may not be able to enter that folder; then a folder of its own under /var/tmp, the same one every time.
 */
export function embeddedDataFolder(workingFolder: string): string {
  const account = unprivilegedAccount();
  const [usual, elsewhere] = possibleDataFolders(workingFolder);
  mkdirSync(usual, { recursive: true });
  if (!account) return usual;
  chownSync(usual, account.uid, account.gid);
  if (accountMay(account, '-w', usual)) return usual;

  mkdirSync(elsewhere, { recursive: true, mode: 0o700 });
  // Anybody may create names under /var/tmp: only a folder of root's or of that account's is to be trusted.
  const found = lstatSync(elsewhere);
  if (!found.isDirectory() || ![0, account.uid].includes(found.uid)) {
    throw new SynclineError('EMBEDDED_POSTGRES', `${elsewhere} belongs to somebody else.`, {
      hint: 'Remove it.',
    });
  }
  return elsewhere;
}

/** The usual folder, and the one where Postgres may not enter that. */
export function possibleDataFolders(workingFolder: string): [usual: string, elsewhere: string] {
  const name = createHash('sha256').update(workingFolder).digest('hex').slice(0, 12);
  return [join(workingFolder, '.syncline', 'postgres'), join('/var/tmp', `syncline-${name}`)];
}
