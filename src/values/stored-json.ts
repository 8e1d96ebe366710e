import { maxDepth } from './limits.ts';
import { cutDeeper, exceedsDepthText } from './nesting.ts';

const { stored: maxLevels } = maxDepth;

/** Too deep values become a note. */
export function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return exceedsDepthText(text, maxLevels) ? cutDeeper(value, maxLevels, tooDeep) : value;
}

const tooDeep = `(nested deeper than ${maxLevels} levels)`;

/** Goes into a response unparsed. Only `jsonParts` can write it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = exceedsDepthText(text, maxLevels) ? JSON.stringify(parseStored(text)) : text;
  }
}

/** To a value (library) or text (HTTP). */
export type ReadJson = (text: string) => unknown;

export const keepText: ReadJson = (text) => new JsonText(text);
