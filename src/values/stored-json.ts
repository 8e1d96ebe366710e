import { cutDeeper, isDeeperText } from './nesting.ts';

/** Postgres takes ten times as much, and no reader could walk through it. */
const maxDepth = 1000;

/** Stored JSON as a value. What is nested too deeply is replaced by a note. */
export function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return isDeeperText(text, maxDepth) ? cutDeeper(value, maxDepth, tooDeep) : value;
}

const tooDeep = `(nested deeper than ${maxDepth} levels)`;

/** Stored JSON that goes into a response as it is, without being parsed. Only `jsonParts` can write it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = isDeeperText(text, maxDepth) ? JSON.stringify(parseStored(text)) : text;
  }
}

/** What a view makes of stored JSON: a value for a program, text for a response. */
export type ReadJson = (text: string) => unknown;

export const keepText: ReadJson = (text) => new JsonText(text);
