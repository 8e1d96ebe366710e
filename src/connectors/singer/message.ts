import { PermanentError } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import { stripControl } from '../../values/terminal-text.ts';
import { asMark, parseExactly } from './exact.ts';

export interface SchemaMessage {
  type: 'SCHEMA';
  stream: string;
  keys: string[];
  bookmarks: string[];
}

export interface RecordMessage {
  type: 'RECORD';
  stream: string;
  record: Record<string, unknown>;
  timeExtracted: unknown;
}

export type Message =
  | SchemaMessage
  | RecordMessage
  | { type: 'STATE'; value: unknown }
  | { type: 'OTHER'; name: string };

export function parseMessage(line: string, lineNumber: number): Message {
  const invalid = (what: string) =>
    new PermanentError(`Line ${lineNumber} of the tap's output ${what}: ${excerpt(line)}`);
  const json = parsed(line, asText);
  if (!isObject(json) || typeof json['type'] !== 'string') throw invalid('is not a Singer message');
  const type = json['type'].toUpperCase();

  if (type === 'STATE') {
    // The tap gets its state back: long integers stay integers.
    const exact = parsed(line, asMark) as { value?: unknown };
    if (exact.value === undefined) throw invalid('is a STATE without value');
    return { type, value: exact.value };
  }
  const { stream } = json;
  if (type === 'SCHEMA') {
    if (typeof stream !== 'string') throw invalid('is a SCHEMA without stream');
    const keys = stringArray(json['key_properties'] ?? []);
    if (!keys) throw invalid('is a SCHEMA whose key_properties are not a list of names');
    return { type, stream, keys, bookmarks: stringArray(json['bookmark_properties'] ?? []) ?? [] };
  }
  if (type === 'RECORD') {
    const { record } = json;
    if (typeof stream !== 'string') throw invalid('is a RECORD without stream');
    if (!isObject(record)) throw invalid('is a RECORD whose record is not an object');
    return { type, stream, record, timeExtracted: json['time_extracted'] };
  }
  return { type: 'OTHER', name: type };
}

const asText = (digits: string) => digits;

function parsed(line: string, convert: (digits: string) => unknown): unknown {
  try {
    return parseExactly(line, convert);
  } catch {
    return undefined;
  }
}

function stringArray(value: unknown): string[] | undefined {
  const isStringArray = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isStringArray ? value : undefined;
}

const maxExcerpt = 80;

function excerpt(line: string): string {
  const cut = line.length > maxExcerpt ? `${line.slice(0, maxExcerpt)}…` : line;
  return stripControl(JSON.stringify(cut));
}
