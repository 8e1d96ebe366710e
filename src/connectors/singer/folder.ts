import { lstat, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../values/is-object.ts';

const maxConfigBytes = 1024 * 1024;

export interface TapFolder {
  path: string;
  /** Mode 0600; returns the path. */
  write(name: string, json: string): Promise<string>;
  /** Undefined if invalid: the tap may have rewritten it. */
  readObject(name: string): Promise<Record<string, unknown> | undefined>;
  remove(): Promise<void>;
}

/** Mode 0700, for one run. */
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
        // A named pipe would block.
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
