import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DashboardFiles } from './assets.ts';

const folder = fileURLToPath(new URL('../../dist/dashboard', import.meta.url));

export const files: DashboardFiles = readFiles();

/** None before the first build. */
function readFiles(): DashboardFiles {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    return Object.fromEntries(
      paths.map((path) => [relative(folder, path).replaceAll(sep, '/'), readFileSync(path, 'utf8')]),
    );
  } catch {
    return {};
  }
}
