import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { linkSources, sourceUrl } from './links.ts';
import { sidebar } from './pages.ts';
import { slugOf } from './slug.ts';

/** Pages that explain a name come before the declarations that contain it. */
const boostDocument = (id: string) => (id.includes('/reference/typescript/') ? 0.2 : 1);

const here = fileURLToPath(import.meta.url);

/** The pages are outside this folder, so Node does not find Vue from there. */
const vueForPages = {
  name: 'vue-for-pages',
  enforce: 'pre' as const,
  resolveId(this: { resolve: Resolve }, id: string, importer?: string) {
    return /^vue(\/|$)/.test(id) && importer?.includes('.md')
      ? this.resolve(id, here, { skipSelf: true })
      : undefined;
  },
};

type Resolve = (id: string, importer: string, options: { skipSelf: true }) => Promise<{ id: string } | null>;

export default defineConfig({
  srcDir: '../docs',
  outDir: './dist',
  cacheDir: './.cache',
  title: 'Syncline',
  description: 'The sync engine for the Postgres you already have.',
  lang: 'en',
  cleanUrls: false,
  rewrites: { 'README.md': 'index.md', ':folder(.*)/README.md': ':folder/index.md' },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: { anchor: { slugify: slugOf }, config: linkSources },
  vite: { plugins: [vueForPages], build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument } } } },
    sidebar: sidebar(),
    nav: [
      { text: 'Quickstart', link: '/quickstart' },
      { text: 'Guides', link: '/guides/write-a-connector', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/configuration', activeMatch: '^/reference/' },
      { text: 'Guarantees', link: '/guarantees' },
    ],
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: sourceUrl }],
    editLink: { pattern: `${sourceUrl}/edit/main/docs/:path`, text: 'Edit this page' },
  },
});
