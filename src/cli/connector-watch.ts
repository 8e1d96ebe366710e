import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemPorts } from '../platform/ports.ts';

/** Soon enough for somebody who has just saved; a look costs one call per file. */
const lookEveryMs = 250;
/** A connector is made of a few files; this keeps a mistake from looking at a whole disk. */
const maxFiles = 500;

/** The file, and what it imports by a relative path, and so on. */
export function filesOf(file: string): string[] {
  const found = new Set<string>();
  const left = [resolve(file)];
  for (let path = left.pop(); path !== undefined && found.size < maxFiles; path = left.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    left.push(...importsOf(path));
  }
  return [...found];
}

const importPattern = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g;
const endings = ['', '.ts', '.js', '.mjs', '.json', '/index.ts', '/index.js'];

function importsOf(path: string): string[] {
  if (!existsSync(path) || !/\.[cm]?[jt]sx?$/.test(path)) return [];
  return [...readFileSync(path, 'utf8').matchAll(importPattern)].flatMap(([, to = '']) => {
    const base = resolve(dirname(path), to);
    const names = [...endings.map((ending) => base + ending), base.replace(/\.js$/, '.ts')];
    return names.filter((name) => existsSync(name) && statSync(name).isFile()).slice(0, 1);
  });
}

/** When each was last written; one that is gone for a moment, because an editor replaces it, is another then. */
export const stateOf = (files: string[]): string =>
  files
    .map((file) => (existsSync(file) ? `${statSync(file).mtimeMs}/${statSync(file).size}` : 'gone'))
    .join();

/** Waits until the files are no longer as they were; false where it was told to end. */
export async function untilChanged(files: string[], before: string, told: AbortSignal): Promise<boolean> {
  while (!told.aborted) {
    if (stateOf(files) !== before && files.every((file) => existsSync(file))) return true;
    await systemPorts.sleep(lookEveryMs, told);
  }
  return false;
}
