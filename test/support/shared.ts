import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { until } from './until.ts';

/** A folder that the first test file to need it fills, for all files of the test run. Users add files, but change none. */
export async function sharedFolder(name: string, fill: (folder: string) => unknown): Promise<string> {
  const folder = join(inject('runFolder'), name);
  const [filled, failed] = [`${folder}.filled`, `${folder}.failed`];
  if (isFirst(folder)) {
    try {
      await fill(folder);
      writeFileSync(filled, '');
    } catch (error) {
      writeFileSync(failed, '');
      throw error;
    }
  }
  await until(
    `another test file has filled ${folder}`,
    () => existsSync(filled) || existsSync(failed),
    600_000,
  );
  if (existsSync(failed)) throw new Error(`Another test file could not fill ${folder}; see its error.`);
  return folder;
}

/** mkdir is atomic between the processes of the test run. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
