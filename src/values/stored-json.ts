import { cutDeeper, exceedsDepthText } from './nesting.ts';

/** Postgres stores deeper JSON, but recursive readers would overflow the stack. */
const maxDepth = 1000;

/** Parses stored JSON. Values nested too deeply are replaced by a note. */
export function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return exceedsDepthText(text, maxDepth) ? cutDeeper(value, maxDepth, tooDeep) : value;
}

const tooDeep = `(nested deeper than ${maxDepth} levels)`;

/** Stored JSON that goes into a response without being parsed. Only `jsonParts` can write it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = exceedsDepthText(text, maxDepth) ? JSON.stringify(parseStored(text)) : text;
  }
}

/** Converts stored JSON to a value (library) or to text (HTTP response). */
export type ReadJson = (text: string) => unknown;

export const keepText: ReadJson = (text) => new JsonText(text);
