import type { Logger } from 'pino';
import { PermanentError, type Signal, type SyncResult } from '../../connector-kit/index.ts';
import { isEmptyState, maxEnds, type TapCursor } from './cursor.ts';
import { parseMessage, type RecordMessage, type SchemaMessage } from './message.ts';
import { hashOf, type RecordMap, signalOf } from './signal.ts';

export interface PageLimits {
  /** Ends a page at the next STATE. */
  pageRecords: number;
  pageBytes: number;
  /** Without a STATE: a run cannot store more. */
  maxRecords: number;
  maxBytes: number;
}

export interface Collector {
  /** Throws PermanentError if the line is no message. */
  take(line: string): void;
  /** The tap can be stopped. */
  isFull(): boolean;
  /** After a stop or failure; undefined without a new STATE. */
  upToState(failed: boolean): SyncResult<TapCursor> | undefined;
  /** After success: includes records behind the last STATE. */
  everything(): SyncResult<TapCursor>;
}

interface Checkpoint {
  state: unknown;
  hash: string;
  signals: number;
  /** Not the run's start or a page's end. */
  isNew: boolean;
}

const maxStreams = 10_000;

const emptySchema = (stream: string): SchemaMessage => ({ type: 'SCHEMA', stream, keys: [], bookmarks: [] });

export function createCollector(
  cursor: TapCursor | undefined,
  limits: PageLimits,
  { log, now, map }: { log: Logger; now: () => number; map: RecordMap | undefined },
): Collector {
  const startHash = cursor?.state === undefined ? undefined : hashOf(cursor.state);
  const ends = cursor?.walk?.ends ?? [];
  const streams = new Map<string, SchemaMessage>();
  const ignored = new Set<string>();
  const signals: Signal[] = [];
  let first = cursor?.walk?.first;
  let [lineNumber, records, bytes] = [0, 0, 0];
  let checkpoint: Checkpoint | undefined;
  let isFull = false;
  // A tap that cannot resume would always stop here: read to the end.
  let startsOver = false;

  function takeSchema(message: SchemaMessage): void {
    streams.set(message.stream, message);
    if (streams.size > maxStreams)
      throw new PermanentError(`The tap has more than ${maxStreams} streams; select fewer.`);
  }

  function takeRecord(message: RecordMessage): void {
    // Records without a SCHEMA are allowed.
    const schema = streams.get(message.stream) ?? emptySchema(message.stream);
    const hash = hashOf(message.record);
    if (cursor?.walk && hash === first) startsOver = true;
    first ??= hash;
    records++;
    const signal = signalOf(message, schema, hash, { map, now });
    if (signal) signals.push(signal);
  }

  /** At its start, a tap may stay for one page: bookmarks are inclusive. */
  const hasReturnedTo = (hash: string) =>
    ends.includes(hash) && records >= (hash === startHash ? limits.pageRecords : 1);

  function takeState(state: unknown): void {
    if (isEmptyState(state)) return;
    const hash = hashOf(state);
    if (hasReturnedTo(hash)) startsOver = true;
    const isNew = hash !== startHash && !ends.includes(hash);
    checkpoint = { state, hash, signals: signals.length, isNew };
    const isPageFull = records >= limits.pageRecords || bytes >= limits.pageBytes;
    if (isNew && isPageFull && !startsOver) isFull = true;
  }

  function checkSize(): void {
    if (records <= limits.maxRecords && bytes <= limits.maxBytes) return;
    isFull = true;
    if (checkpoint?.isNew) return;
    const size = `${limits.maxRecords} records or ${Math.round(limits.maxBytes / 1024 / 1024)} MB`;
    throw new PermanentError(
      startsOver
        ? `The tap starts over when stopped and has more than ${size}: it cannot be read in pages. ` +
            'Select fewer streams or a later start.'
        : `The tap wrote more than ${size} without a new STATE, so it cannot be resumed. ` +
            'Make it write STATE more often, or select fewer streams.',
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
