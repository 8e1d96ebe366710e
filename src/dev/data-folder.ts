import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SynclineError } from '../contract/errors.ts';
import { accountMay, unprivilegedAccount } from './binaries.ts';

/** Under /var/tmp if root's Postgres account cannot write `.syncline/`. */
export function embeddedDataFolder(workingFolder: string): string {
  const account = unprivilegedAccount();
  const [defaultFolder, fallbackFolder] = possibleDataFolders(workingFolder);
  mkdirSync(defaultFolder, { recursive: true });
  if (!account) return defaultFolder;
  chownSync(defaultFolder, account.uid, account.gid);
  if (accountMay(account, '-w', defaultFolder)) return defaultFolder;

  mkdirSync(fallbackFolder, { recursive: true, mode: 0o700 });
  // /var/tmp is world-writable: trust only root and the account.
  const stat = lstatSync(fallbackFolder);
  if (!stat.isDirectory() || ![0, account.uid].includes(stat.uid)) {
    throw new SynclineError('EMBEDDED_POSTGRES', `${fallbackFolder} is owned by another user.`, {
      hint: 'Delete it.',
    });
  }
  return fallbackFolder;
}

export function possibleDataFolders(workingFolder: string): [defaultFolder: string, fallbackFolder: string] {
  const name = createHash('sha256').update(workingFolder).digest('hex').slice(0, 12);
  return [join(workingFolder, '.syncline', 'postgres'), join('/var/tmp', `syncline-${name}`)];
}
