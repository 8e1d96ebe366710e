import { defineConfig } from 'vite';

/** Run from the root of the repository: vite build --config src/dashboard/vite.config.ts */
export default defineConfig({
  root: 'src/dashboard',
  // Relative, because the server may mount everything under a path of its own and says so in <base>.
  base: './/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    // Inlined assets would need data: where the server's content security policy has none.
    assetsInlineLimit: 0,
    rolldownOptions: { input: ['src/dashboard/index.html', 'src/dashboard/docs.html'] },
  },
});
