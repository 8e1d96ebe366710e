import type { MeasuredOn } from '../tools/results.ts';

/** What was to be reached, and what was. */
export interface Goal {
  what: string;
  goal: string;
  found: string;
  isMet: boolean;
}

/** What the page says of one measurement. */
export interface Findings {
  /** Markdown. */
  text: string;
  /** Drawings by the names of their files. */
  plots?: Record<string, string>;
  goals?: Goal[];
  /** Sentences, each about something that a peer does better. */
  betterPeers?: string[];
}

export interface Section extends Findings {
  title: string;
  measuredOn?: MeasuredOn;
}

/** Whatever has not been measured is on the page too, and says so. */
export function sectionOf<Result extends { measuredOn: MeasuredOn }>(
  title: string,
  result: Result | undefined,
  find: (result: Result) => Findings,
): Section {
  if (!result) return { title, text: 'Not measured yet.' };
  return { title, measuredOn: result.measuredOn, ...find(result) };
}

export const image = (name: string, title: string) => `![${title}](benchmarks/${name}.svg)`;
