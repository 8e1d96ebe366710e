import { cutDeeper, exceedsDepthText } from './nesting.ts';

/** Recursive readers would overflow the stack. */
const maxDepth = 1000;

/** Too deep values become a note. */
export function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return exceedsDepthText(text, maxDepth) ? cutDeeper(value, maxDepth, tooDeep) : value;
}

const tooDeep = `(nested deeper than ${maxDepth} levels)`;

/** Goes into a response unparsed. Only `jsonParts` can write it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = exceedsDepthText(text, maxDepth) ? JSON.stringify(parseStored(text)) : text;
  }
}

/** To a value (library) or text (HTTP). */
export type ReadJson = (text: string) => unknown;

export const keepText: ReadJson = (text) => new JsonText(text);
