import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemPorts } from '../platform/ports.ts';
import { terminal } from './terminal.ts';

/** One stat() per file. */
const pollMs = 250;
const maxFiles = 500;

/** The file and its relative imports. */
export function filesOf(file: string): string[] {
  const found = new Set<string>();
  const pending = [resolve(terminal().cwd, file)];
  for (let path = pending.pop(); path !== undefined && found.size < maxFiles; path = pending.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    pending.push(...importsOf(path));
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

/** Editors replace files: one may be missing briefly. */
export const stateOf = (files: string[]): string =>
  files
    .map((file) => (existsSync(file) ? `${statSync(file).mtimeMs}/${statSync(file).size}` : 'missing'))
    .join();

export async function untilChanged(
  files: string[],
  before: string,
  abortSignal: AbortSignal,
): Promise<boolean> {
  while (!abortSignal.aborted) {
    if (stateOf(files) !== before && files.every((file) => existsSync(file))) return true;
    await systemPorts.sleep(pollMs, abortSignal);
  }
  return false;
}
