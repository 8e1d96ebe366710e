/** Writes docs/benchmarks.md, docs/soak.md and their charts from bench/results/. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { drawChart } from './charts.ts';
import { page, sectionsOf } from './report/page.ts';
import type { Chart } from './report/section.ts';
import { soakPage } from './report/soak.ts';
import type { SoakResult } from './soak/run.ts';
import { readResult } from './tools/results.ts';

const docs = new URL('../docs/', import.meta.url);

function write(name: string, text: string, charts: [file: string, chart: Chart][]): void {
  const folder = new URL(`${name}/`, docs);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [file, chart] of charts) writeFileSync(new URL(`${file}.svg`, folder), drawChart(chart));
  writeFileSync(new URL(`${name}.md`, docs), text);
  console.log(`docs/${name}.md`);
}

const sections = sectionsOf(readResult);
const charts = sections.flatMap(({ name, chart }): [string, Chart][] => (chart ? [[name, chart]] : []));
write('benchmarks', page(sections), charts);
const soak = soakPage(readResult<SoakResult>('soak'));
write('soak', soak.text, Object.entries(soak.charts));
