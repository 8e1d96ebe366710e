import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Signal, SyncContext, SyncResult } from '../contract/connector.ts';
import {
  connectorErrorKind,
  describeError,
  PermanentError,
  type RateLimitedError,
} from '../contract/errors.ts';
import { type Wait, waitSeconds } from '../contract/retry-after.ts';
import { inSlices } from '../platform/slices.ts';

/** The cursor of a connection that keeps several lists in sync, each with a cursor of its own. */
export function streamsCursor<Cursor extends z.ZodType>(cursor: Cursor) {
  return z.object({
    streams: z.record(z.string(), cursor),
    /** A walk under way: which streams are still to come, which cannot be read, and which were begun again. */
    walk: z
      .object({
        left: z.array(z.string()),
        failed: z.record(z.string(), z.string()),
        restarted: z.array(z.string()).optional(),
        /** All of them had failed once, after something was found. */
        hasFailed: z.boolean().optional(),
      })
      .optional(),
  });
}

export interface StreamsCursor<Cursor> {
  streams: Record<string, Cursor>;
  walk?: StreamsWalk | undefined;
}

interface StreamsWalk {
  left: string[];
  failed: Record<string, string>;
  restarted?: string[] | undefined;
  hasFailed?: boolean | undefined;
}

export interface StreamsOptions {
  /** A run ends when it has found so many signals, or asked so many times, and goes on with the next job. */
  maxSignals?: number;
  maxSteps?: number;
  /** … or found signals of so many characters as JSON: one more page has to fit within what a run may bring back. */
  maxCharacters?: number;
}

/** So often a stream may fail before the others go first. */
const patience = 3;

type StreamsContext<Cursor> = Pick<SyncContext<StreamsCursor<Cursor>>, 'cursor' | 'abortSignal' | 'log'> & {
  job?: Pick<SyncContext['job'], 'attempts'> | undefined;
};

/**
 * Reads one stream after the other, as many pages as fit into a run. What was read before something went wrong is kept:
 * the run ends well, and the next meets the problem first thing. A stream that cannot be read does not keep the others
 * from it, nor does one that fails again and again while others can be read; only if none can, the run fails.
 */
export async function syncStreams<Cursor>(
  { cursor, abortSignal, log, job }: StreamsContext<Cursor>,
  names: readonly string[],
  step: (name: string, cursor: Cursor | undefined) => Promise<SyncResult<Cursor>>,
  { maxSignals = 1000, maxSteps = 50, maxCharacters = 8_000_000 }: StreamsOptions = {},
): Promise<SyncResult<StreamsCursor<Cursor>>> {
  const known = Object.entries(cursor?.streams ?? {}).filter(([name]) => names.includes(name));
  const streams: Record<string, Cursor> = Object.fromEntries(known);
  const left = (cursor?.walk?.left ?? names).filter((name) => names.includes(name));
  const failed: Record<string, string> = { ...cursor?.walk?.failed };
  const signals: Signal[] = [];
  /** Once in a walk: a stream whose cursors always expire must not start from the beginning for ever. */
  const restarted = new Set(cursor?.walk?.restarted);
  const hasFailed = cursor?.walk?.hasFailed ?? false;
  let steps = 0;
  let characters = 0;
  let hasGivenUp = false;
  let retryAfterSeconds: Wait;

  for (let name = left[0]; name !== undefined; name = left[0]) {
    const isFull = signals.length >= maxSignals || characters >= maxCharacters;
    if (isFull || steps >= maxSteps || abortSignal.aborted) break;
    try {
      const result = await step(name, streams[name]);
      await inSlices(result.signals, (signal) => {
        signals.push(signal);
        characters += JSON.stringify(signal).length;
      });
      const hasMoved = moveOn(name, result);
      if (!result.hasMore || !hasMoved) left.shift();
      else if (result.retryAfterSeconds) {
        retryAfterSeconds = result.retryAfterSeconds;
        break;
      }
    } catch (error) {
      const kind = connectorErrorKind(error);
      if (kind === 'permanent' || (kind === 'cursor_expired' && restarted.has(name))) setAside(name, error);
      else if (kind === 'transient' && isStuck()) {
        setAside(name, error);
        hasGivenUp = true;
        // Not a step: if the next one fails too, it is the provider, and nothing was gained.
        continue;
      } else if (kind === 'cursor_expired' && streams[name] !== undefined) {
        log.info(`${name} starts from the beginning: ${describeError(error)}`);
        delete streams[name];
        restarted.add(name);
      } else if (steps === 0) throw error;
      else {
        log.info(`The rest waits for the next run: ${describeError(error)}`);
        retryAfterSeconds = kind === 'rate_limited' ? waitOf(error as RateLimitedError) : undefined;
        break;
      }
    }
    steps++;
  }

  if (left.length > 0) return more({ left, failed });
  const reasons = Object.values(failed);
  if (names.length === 0 || reasons.length < names.length) return { signals, nextCursor: { streams } };
  // What was found before they failed is kept, and the next run meets the problems first thing. Once in a walk: it might
  // find something before them each time.
  if (signals.length > 0 && !hasFailed) return more({ left: [...names], failed: {}, hasFailed: true });
  throw new PermanentError(reasons.join(' '));

  function more(walk: StreamsWalk): SyncResult<StreamsCursor<Cursor>> {
    const again = {
      ...(restarted.size > 0 && { restarted: [...restarted] }),
      ...(hasFailed && { hasFailed }),
    };
    return {
      signals,
      nextCursor: { streams, walk: { ...walk, ...again } },
      hasMore: true,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    };
  }

  function setAside(name: string, error: unknown): void {
    log.warn(`${name} cannot be read: ${describeError(error)}`);
    // All of them have to fit into one cursor; the log has the whole.
    failed[name] = describeError(error).slice(0, 200);
    left.shift();
  }

  /** Whether it is the first stream of the run that has kept this job from going on, so that others should be tried. */
  function isStuck(): boolean {
    const isFirst = steps === 0 && !hasGivenUp && !abortSignal.aborted;
    return isFirst && names.length > 1 && (job?.attempts ?? 0) >= patience;
  }

  /** Whether there is any point in asking for more of it. */
  function moveOn(name: string, { signals: found, nextCursor }: SyncResult<Cursor>): boolean {
    const before = streams[name];
    if (nextCursor !== undefined && nextCursor !== null) streams[name] = nextCursor;
    return found.length > 0 || !isDeepStrictEqual(before, streams[name]);
  }
}

/**
 * How long the provider wants to be left alone, where it said so. Without a budget it was not even asked: then the job that
 * follows finds out for itself, and says why it waits.
 */
function waitOf({ retryAfterSeconds, parked }: RateLimitedError): Wait {
  // Of a date it is enough to know that it is one: the engine finds out how far off it is.
  const isSaid = (waitSeconds(retryAfterSeconds, 0) ?? 0) > 0;
  return isSaid && !parked ? retryAfterSeconds : undefined;
}
