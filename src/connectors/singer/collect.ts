import type { Logger } from 'pino';
import { PermanentError, type Signal, type SyncResult } from '../../connector-kit/index.ts';
import { isEmptyState, maxEnds, type TapCursor } from './cursor.ts';
import { parseMessage, type RecordMessage, type SchemaMessage } from './message.ts';
import { hashOf, type RecordMap, signalOf } from './signal.ts';

export interface PageLimits {
  /** A page ends at the first STATE after so many records. */
  pageRecords: number;
  /** … or after so many bytes of output. */
  pageBytes: number;
  /** What is held at most while no STATE comes: more could not be stored at once. */
  maxRecords: number;
  maxBytes: number;
}

export interface Collector {
  /** Takes a line of output. Throws PermanentError for one that is no message. */
  take(line: string): void;
  /** Whether the page is to end here: the tap can be stopped. */
  isFull(): boolean;
  /** The tap was stopped: everything up to the last STATE, and on from there. Undefined where no STATE moved on. */
  upToState(failed: boolean): SyncResult<TapCursor> | undefined;
  /** The tap has ended well: also what came after the last STATE. */
  everything(): SyncResult<TapCursor>;
}

interface Checkpoint {
  state: unknown;
  hash: string;
  /** How many signals it covers. */
  signals: number;
  /** It is neither where this run began nor where an earlier page of the walk has ended. */
  isNew: boolean;
}

/** More names than any tap has streams. */
const maxStreams = 10_000;

const schemaless = (stream: string): SchemaMessage => ({ type: 'SCHEMA', stream, keys: [], bookmarks: [] });

/** Gathers signals and the states that cover them. */
export function createCollector(
  cursor: TapCursor | undefined,
  limits: PageLimits,
  log: Logger,
  map?: RecordMap,
): Collector {
  const begunAt = cursor?.state === undefined ? undefined : hashOf(cursor.state);
  const ends = cursor?.walk?.ends ?? [];
  const streams = new Map<string, SchemaMessage>();
  const ignored = new Set<string>();
  const signals: Signal[] = [];
  let first = cursor?.walk?.first;
  let [lineNumber, records, bytes] = [0, 0, 0];
  let checkpoint: Checkpoint | undefined;
  let isFull = false;
  // A tap that cannot go on from the middle would be stopped at the same places for ever: it must be let through.
  let startsOver = false;

  function takeSchema(message: SchemaMessage): void {
    streams.set(message.stream, message);
    if (streams.size > maxStreams)
      throw new PermanentError(`The tap has more than ${maxStreams} streams; select fewer.`);
  }

  function takeRecord(message: RecordMessage): void {
    // As the specification wants it: a record without a SCHEMA before it has none.
    const schema = streams.get(message.stream) ?? schemaless(message.stream);
    const hash = hashOf(message.record);
    if (cursor?.walk && hash === first) startsOver = true;
    first ??= hash;
    records++;
    const signal = signalOf(message, schema, hash, map);
    if (signal) signals.push(signal);
  }

  /** Where it began it may be for a while, as bookmarks include the last record; at an earlier place it should not be. */
  const isBack = (hash: string) =>
    ends.includes(hash) && records >= (hash === begunAt ? limits.pageRecords : 1);

  function takeState(state: unknown): void {
    if (isEmptyState(state)) return;
    const hash = hashOf(state);
    if (isBack(hash)) startsOver = true;
    const isNew = hash !== begunAt && !ends.includes(hash);
    checkpoint = { state, hash, signals: signals.length, isNew };
    const isEnough = records >= limits.pageRecords || bytes >= limits.pageBytes;
    if (isNew && isEnough && !startsOver) isFull = true;
  }

  function checkSize(): void {
    if (records <= limits.maxRecords && bytes <= limits.maxBytes) return;
    isFull = true;
    if (checkpoint?.isNew) return;
    const size = `${limits.maxRecords} records or ${Math.round(limits.maxBytes / 1024 / 1024)} MB`;
    throw new PermanentError(
      startsOver
        ? `The tap starts over whenever it is stopped, and has more than ${size}: it cannot be read in pages. Select fewer streams, or a later start.`
        : `The tap wrote more than ${size} without a new STATE: there is no place to go on from. Let it write STATE more often, or select fewer streams.`,
    );
  }

  return {
    take: (line) => {
      lineNumber++;
      if (line.trim() === '') return;
      const message = parseMessage(line, lineNumber);
      bytes += line.length;
      if (message.type === 'SCHEMA') takeSchema(message);
      else if (message.type === 'RECORD') takeRecord(message);
      else if (message.type === 'STATE') takeState(message.value);
      else if (!ignored.has(message.name) && ignored.size < 100) {
        ignored.add(message.name);
        log.warn(`Messages of type ${message.name} are ignored.`);
      }
      checkSize();
    },
    isFull: () => isFull,
    upToState: (failed) => {
      if (!checkpoint?.isNew) return undefined;
      const walk = {
        ...(first !== undefined && { first }),
        ends: [...ends, checkpoint.hash].slice(-maxEnds),
        ...(failed && { failed }),
      };
      return {
        signals: signals.slice(0, checkpoint.signals),
        nextCursor: { state: checkpoint.state, walk },
        hasMore: true,
      };
    },
    everything: () => {
      const state = checkpoint ? checkpoint.state : cursor?.state;
      return { signals, nextCursor: state === undefined ? undefined : { state } };
    },
  };
}
