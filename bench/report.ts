/** Writes `docs/benchmarks.md` and its plots from what was measured (`bench/results/*.json`). */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { page } from './report/page.ts';
import { sectionsOf } from './report/sections.ts';
import { readResult } from './tools/results.ts';

const docs = new URL('../docs/', import.meta.url);
const plots = new URL('benchmarks/', docs);

const sections = sectionsOf(readResult);
rmSync(plots, { recursive: true, force: true });
mkdirSync(plots, { recursive: true });
for (const { plots: drawn = {} } of sections)
  for (const [name, svg] of Object.entries(drawn)) writeFileSync(new URL(`${name}.svg`, plots), svg);
writeFileSync(new URL('benchmarks.md', docs), page(sections));
console.log('docs/benchmarks.md');
