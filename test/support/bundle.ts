import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

export interface Bundle {
  script: string;
  migrations: string;
  remove(): void;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * A script of the tests with the parts of src/ that it imports, for processes that need more than the package
 * exports. Below node_modules, so that imports of packages resolve.
 */
export async function bundleScript(entry: string, plugins: Plugin[] = []): Promise<Bundle> {
  const cache = join(root, 'node_modules/.cache/syncline-bundles');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'bundle-'));
  const file = `chunks/${basename(entry, extname(entry))}.mjs`;
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins,
    build: {
      ssr: entry,
      outDir: folder,
      target: 'node20',
      minify: false,
      rolldownOptions: { output: { entryFileNames: file, codeSplitting: false } },
    },
  });
  // As in dist/, where src/store/migrate.ts looks for it.
  const migrations = join(folder, 'store/migrations');
  cpSync(join(root, 'src/store/migrations'), migrations, { recursive: true });
  return {
    script: join(folder, file),
    migrations,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
