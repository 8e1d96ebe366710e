import { type Loop, startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { hasOpenDeletions } from '../store/deletions.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { deleteBatch } from './deletion.ts';

/** Continues deletions of connections in the process that accepted one, whether or not a janitor runs anywhere. */
export interface Deleter {
  start(): void;
  /** Resolves when the batch under way has ended. */
  stop(): Promise<void>;
}

/** Between batches, for other statements. */
const breathMs = 20;
/** Others work on what is left, or its last batch failed. */
const waitMs = 1000;

export function createDeleter(context: { db: Database; ports: Ports; telemetry: Telemetry }): Deleter {
  const { db, ports, telemetry } = context;
  let loop: Loop | undefined;
  let isStopped = false;
  /** Whether a deletion was requested since the round under way began. */
  let isRequested = false;

  async function runOnce(): Promise<number> {
    isRequested = false;
    if ((await deleteBatch(context)) !== 'none') return breathMs;
    if (await hasOpenDeletions(db)) return waitMs;
    if (isRequested) return 0;
    // The loop ends after this round; a later request starts another.
    void loop?.stop();
    loop = undefined;
    return 0;
  }

  return {
    start() {
      isRequested = true;
      if (isStopped || loop) return loop?.wake();
      loop = startLoop({
        ports,
        onFailure: (error, retryMs) => telemetry.roundFailed('janitor', error, retryMs),
        runOnce,
      });
    },
    async stop() {
      isStopped = true;
      await loop?.stop();
    },
  };
}
