import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Signal, SyncContext, SyncResult } from '../contract/connector.ts';
import {
  connectorErrorKind,
  describeError,
  PermanentError,
  type RateLimitedError,
} from '../contract/errors.ts';
import { hintSeconds, type Wait } from '../contract/retry-after.ts';
import { inSlices } from '../platform/slices.ts';

/** Cursor of a connection with several streams. */
export function streamsCursor<Cursor extends z.ZodType>(cursor: Cursor) {
  return z.object({
    streams: z.record(z.string(), cursor),
    /** Remaining, failed and restarted streams. */
    walk: z
      .object({
        left: z.array(z.string()),
        failed: z.record(z.string(), z.string()),
        restarted: z.array(z.string()).optional(),
        /** All failed once in this walk. */
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
  /** Per run. */
  maxSignals?: number;
  maxSteps?: number;
  /** Of the signals as JSON; one more page must fit a run. */
  maxCharacters?: number;
}

const maxStreamFailures = 3;

type StreamsContext<Cursor> = Pick<SyncContext<StreamsCursor<Cursor>>, 'cursor' | 'abortSignal' | 'log'> & {
  job?: Pick<SyncContext['job'], 'attempts'> | undefined;
};

/**
 * Reads streams in turn, up to the run's limits. After an error, stores what was read; the next run meets the
 * error. Fails only if all streams fail.
 */
export async function syncStreams<Cursor, Found extends Signal = Signal>(
  { cursor, abortSignal, log, job }: StreamsContext<Cursor>,
  names: readonly string[],
  step: (name: string, cursor: Cursor | undefined) => Promise<SyncResult<Cursor, Found>>,
  { maxSignals = 1000, maxSteps = 50, maxCharacters = 8_000_000 }: StreamsOptions = {},
): Promise<SyncResult<StreamsCursor<Cursor>, Found>> {
  const storedCursors = Object.entries(cursor?.streams ?? {}).filter(([name]) => names.includes(name));
  const streams: Record<string, Cursor> = Object.fromEntries(storedCursors);
  const left = (cursor?.walk?.left ?? names).filter((name) => names.includes(name));
  const failed: Record<string, string> = { ...cursor?.walk?.failed };
  const signals: Found[] = [];
  /** Once per walk: streams whose cursors always expire would loop. */
  const restarted = new Set(cursor?.walk?.restarted);
  const hasFailed = cursor?.walk?.hasFailed ?? false;
  let steps = 0;
  let characters = 0;
  let hasSkipped = false;
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
      const hasAdvanced = advance(name, result);
      if (!result.hasMore || !hasAdvanced) left.shift();
      else if (result.retryAfterSeconds) {
        retryAfterSeconds = result.retryAfterSeconds;
        break;
      }
    } catch (error) {
      const kind = connectorErrorKind(error);
      if (kind === 'permanent' || (kind === 'cursor_expired' && restarted.has(name))) markFailed(name, error);
      else if (kind === 'transient' && isStuck()) {
        markFailed(name, error);
        hasSkipped = true;
        // No step: if the next stream fails too, the provider is down.
        continue;
      } else if (kind === 'cursor_expired' && streams[name] !== undefined) {
        log.info(`${name} restarts from the beginning: ${describeError(error)}`);
        delete streams[name];
        restarted.add(name);
      } else if (steps === 0) throw error;
      else {
        log.info(`Deferring the rest to the next run: ${describeError(error)}`);
        retryAfterSeconds = kind === 'rate_limited' ? waitOf(error as RateLimitedError) : undefined;
        break;
      }
    }
    steps++;
  }

  if (left.length > 0) return continueWalk({ left, failed });
  const reasons = Object.values(failed);
  if (names.length === 0 || reasons.length < names.length) return { signals, nextCursor: { streams } };
  // Keep the signals; the next run meets the errors. Once per walk, or it loops.
  if (signals.length > 0 && !hasFailed)
    return continueWalk({ left: [...names], failed: {}, hasFailed: true });
  throw new PermanentError(reasons.join(' '));

  function continueWalk(walk: StreamsWalk): SyncResult<StreamsCursor<Cursor>, Found> {
    const walkFlags = {
      ...(restarted.size > 0 && { restarted: [...restarted] }),
      ...(hasFailed && { hasFailed }),
    };
    return {
      signals,
      nextCursor: { streams, walk: { ...walk, ...walkFlags } },
      hasMore: true,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    };
  }

  function markFailed(name: string, error: unknown): void {
    log.warn(`${name} cannot be read: ${describeError(error)}`);
    // All must fit the cursor.
    failed[name] = describeError(error).slice(0, 200);
    left.shift();
  }

  /** Repeated failures must not block other streams. */
  function isStuck(): boolean {
    const isFirst = steps === 0 && !hasSkipped && !abortSignal.aborted;
    return isFirst && names.length > 1 && (job?.attempts ?? 0) >= maxStreamFailures;
  }

  /** False without progress. */
  function advance(name: string, { signals: found, nextCursor }: SyncResult<Cursor>): boolean {
    const previous = streams[name];
    if (nextCursor !== undefined && nextCursor !== null) streams[name] = nextCursor;
    return found.length > 0 || !isDeepStrictEqual(previous, streams[name]);
  }
}

/** Parked: the next job checks the budget. */
function waitOf({ retryAfterSeconds, parked }: RateLimitedError): Wait {
  // The engine computes the delay of dates.
  const hasHint = (hintSeconds(retryAfterSeconds, 0) ?? 0) > 0;
  return hasHint && !parked ? retryAfterSeconds : undefined;
}
