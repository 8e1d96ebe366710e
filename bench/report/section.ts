import type { Environment, Recorded } from '../tools/results.ts';

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

/** The report of one measurement. */
export interface Findings {
  /** Markdown. */
  text: string;
  chart?: Chart;
  goals?: Goal[];
  /** Sentences about results where a peer is faster. */
  fasterPeers?: string[];
}

export interface Section extends Findings {
  /** File name of the result and of the chart. */
  name: string;
  title: string;
  measuredOn?: Environment;
}

export function sectionOf<Result extends Recorded>(
  name: string,
  title: string,
  result: Result | undefined,
  describe: (result: Result) => Findings,
): Section {
  if (!result) return { name, title, text: 'Not measured yet.' };
  return { name, title, measuredOn: result.measuredOn, ...describe(result) };
}
