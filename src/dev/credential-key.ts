import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const pathIn = (workingFolder: string) => join(workingFolder, '.syncline', 'credentials.key');

export function findDevKey(workingFolder: string): string | undefined {
  const path = pathIn(workingFolder);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

/** Next to its data: for demos only. */
export function devKey(workingFolder: string): string {
  const existing = findDevKey(workingFolder);
  if (existing !== undefined) return existing;
  const path = pathIn(workingFolder);
  const key = `dev:${randomBytes(32).toString('base64')}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}
