import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const pathIn = (workingFolder: string) => join(workingFolder, '.syncline', 'credentials.key');

/** The key that the demo made for itself, if it has. */
export function findDevKey(workingFolder: string): string | undefined {
  const path = pathIn(workingFolder);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

/** The same, made the first time. It lies beside the data that it encrypts: good enough for a demo, and for nothing else. */
export function devKey(workingFolder: string): string {
  const known = findDevKey(workingFolder);
  if (known !== undefined) return known;
  const path = pathIn(workingFolder);
  const key = `dev:${randomBytes(32).toString('base64')}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}
