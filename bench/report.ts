/** Writes docs/benchmarks.md, docs/soak.md and their charts from bench/results/. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { drawChart } from './charts.ts';
import { benchmarksPage } from './report/page.ts';
import type { Chart } from './report/section.ts';
import { soakPage } from './report/soak.ts';
import { readResult } from './tools/results.ts';

const docs = new URL('../docs/', import.meta.url);

function write(name: string, { text, charts }: { text: string; charts: Record<string, Chart> }): void {
  const folder = new URL(`${name}/`, docs);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [file, chart] of Object.entries(charts))
    writeFileSync(new URL(`${file}.svg`, folder), drawChart(chart));
  writeFileSync(new URL(`${name}.md`, docs), text);
  console.log(`docs/${name}.md`);
}

write('benchmarks', benchmarksPage(readResult));
write('soak', soakPage(readResult('soak')));
