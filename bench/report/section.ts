import { readFileSync } from 'node:fs';

/** A chart as plain data; `bench/charts.ts` draws it. `color` is an index of its palette. */
export type Chart = BarChart | LineChart;

export interface BarChart {
  title: string;
  subtitle: string;
  unit: string;
  bars: { label: string; value: number; min: number; max: number; color: number }[];
}

export interface LineChart {
  title: string;
  /** Starts with the unit of the y axis. */
  subtitle: string;
  x: string;
  isLog?: boolean;
  lines: { name: string; color: number; points: { x: number; y: number; min?: number; max?: number }[] }[];
}

export interface Goal {
  what: string;
  goal: string;
  found: string;
  isMet: boolean;
}

export interface Section {
  texts: Record<string, string> & { table: string };
  chart: Chart;
  goals: Goal[];
  fasterPeers?: string[];
}

/** Fills the template `bench/report/<name>.md`. Lines of empty texts are removed. */
export function fillTemplate(name: string, texts: Record<string, string>): string {
  const template = readFileSync(new URL(`${name}.md`, import.meta.url), 'utf8');
  return template.replaceAll(/\{\{(.+?)\}\}(\n\n)?/g, (_, key: string, gap = '') => {
    const text = texts[key];
    if (text === undefined) throw new Error(`${name}.md: no text for ${key}`);
    return text && text + gap;
  });
}
