import { randomUUID } from 'node:crypto';
import { maxDepth } from './limits.ts';
import { cutDeeper, exceedsDepthText } from './nesting.ts';

const { stored: maxLevels } = maxDepth;

export function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return exceedsDepthText(text, maxLevels) ? cutDeeper(value, maxLevels, tooDeep) : value;
}

const tooDeep = `(nested deeper than ${maxLevels} levels)`;

/** Goes into a response unparsed, by `jsonParts` only. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = exceedsDepthText(text, maxLevels) ? JSON.stringify(parseStored(text)) : text;
  }

  toJSON(): string {
    if (!writing) throw new Error('JsonText can only be written by jsonParts.');
    writing.texts.push(this.text);
    return writing.mark;
  }
}

/** The running call of synchronous `jsonParts`. */
let writing: { mark: string; texts: string[] } | undefined;

/** To concatenate: stored JSON is neither parsed nor copied. */
export function jsonParts(value: unknown): string[] {
  const mark = randomUUID();
  const texts: string[] = [];
  writing = { mark, texts };
  try {
    // JSON.stringify would call a replacer for every value.
    const frame = JSON.stringify(value);
    if (texts.length === 0) return [frame];
    return frame.split(`"${mark}"`).flatMap((part, i) => [part, texts[i] ?? '']);
  } finally {
    writing = undefined;
  }
}

/** To a value, or text for HTTP. */
export type ReadJson = (text: string) => unknown;

export const keepText: ReadJson = (text) => new JsonText(text);
