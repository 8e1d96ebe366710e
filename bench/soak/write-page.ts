import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readResult } from '../tools/results.ts';
import { page } from './page.ts';
import type { SoakResult } from './result.ts';

const docs = new URL('../../docs/', import.meta.url);
const plotsFolder = new URL('soak/', docs);

/** Writes `docs/soak.md` and its plots from `bench/results/soak.json`. */
export function writePage(): void {
  const { text, plots } = page(readResult<SoakResult>('soak'));
  rmSync(plotsFolder, { recursive: true, force: true });
  if (Object.keys(plots).length > 0) mkdirSync(plotsFolder, { recursive: true });
  for (const [name, svg] of Object.entries(plots)) writeFileSync(new URL(`${name}.svg`, plotsFolder), svg);
  writeFileSync(new URL('soak.md', docs), text);
}
