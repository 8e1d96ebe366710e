import { lstat, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../values/is-object.ts';

/** More than any configuration; what is larger is no configuration. */
const maxConfigBytes = 1024 * 1024;

export interface TapFolder {
  path: string;
  /** Writes a file that nobody else can read, and returns its path. */
  write(name: string, json: string): Promise<string>;
  /** The object in a file that the tap may have written anew; undefined if there is none. */
  readObject(name: string): Promise<Record<string, unknown> | undefined>;
  remove(): Promise<void>;
}

/** A folder for one run, which only this user can enter. */
export async function makeFolder(): Promise<TapFolder> {
  const path = await mkdtemp(join(tmpdir(), 'syncline-tap-'));
  return {
    path,
    write: async (name, json) => {
      const file = join(path, name);
      await writeFile(file, json, { mode: 0o600, flag: 'wx' });
      return file;
    },
    readObject: async (name) => {
      try {
        const file = join(path, name);
        const found = await lstat(file);
        // Not a pipe, for example, which would never end.
        if (!found.isFile() || found.size > maxConfigBytes) return undefined;
        const json: unknown = JSON.parse(await readFile(file, 'utf8'));
        return isObject(json) ? json : undefined;
      } catch {
        return undefined;
      }
    },
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  };
}
