import { PermanentError } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import { plain } from '../../values/terminal-text.ts';
import { asMark, parseExactly } from './exact.ts';

export interface SchemaMessage {
  type: 'SCHEMA';
  stream: string;
  keys: string[];
  /** The columns by which the tap knows how far it is. */
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

/** What one line of a tap's output says. Types are read without regard to case, as the specification wants it. */
export function parseMessage(line: string, lineNumber: number): Message {
  const wrong = (what: string) =>
    new PermanentError(`Line ${lineNumber} of the tap's output ${what}: ${excerpt(line)}`);
  const json = parsed(line, asText);
  if (!isObject(json) || typeof json['type'] !== 'string') throw wrong('is not a Singer message');
  const type = json['type'].toUpperCase();

  if (type === 'STATE') {
    // Goes back to the tap one day, so its integers must be integers again.
    const exact = parsed(line, asMark) as { value?: unknown };
    if (exact.value === undefined) throw wrong('is a STATE without value');
    return { type, value: exact.value };
  }
  const { stream } = json;
  if (type === 'SCHEMA') {
    if (typeof stream !== 'string') throw wrong('is a SCHEMA without stream');
    const keys = texts(json['key_properties'] ?? []);
    if (!keys) throw wrong('is a SCHEMA whose key_properties are not a list of names');
    return { type, stream, keys, bookmarks: texts(json['bookmark_properties'] ?? []) ?? [] };
  }
  if (type === 'RECORD') {
    const { record } = json;
    if (typeof stream !== 'string') throw wrong('is a RECORD without stream');
    if (!isObject(record)) throw wrong('is a RECORD whose record is not an object');
    return { type, stream, record, timeExtracted: json['time_extracted'] };
  }
  return { type: 'OTHER', name: type };
}

const asText = (digits: string) => digits;

function parsed(line: string, keep: (digits: string) => unknown): unknown {
  try {
    return parseExactly(line, keep);
  } catch {
    return undefined;
  }
}

function texts(value: unknown): string[] | undefined {
  const isRight = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isRight ? value : undefined;
}

const maxExcerpt = 80;

function excerpt(line: string): string {
  const cut = line.length > maxExcerpt ? `${line.slice(0, maxExcerpt)}…` : line;
  return plain(JSON.stringify(cut));
}
