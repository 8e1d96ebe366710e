import { defineConfig } from 'vite';

/** From the root: vite build --config src/dashboard/vite.config.ts */
export default defineConfig({
  root: 'src/dashboard',
  // The server sets its mount path in <base>.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    // The content security policy does not allow all data: URLs.
    assetsInlineLimit: 0,
    rolldownOptions: { input: ['src/dashboard/index.html', 'src/dashboard/docs.html'] },
  },
});
