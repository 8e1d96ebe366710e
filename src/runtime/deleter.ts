import { type Loop, startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { hasOpenDeletions } from '../store/deletions.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { deleteBatch } from './deletion.ts';

/** Deletions must not depend on a running janitor. */
export interface Deleter {
  start(): void;
  stop(): Promise<void>;
}

const batchPauseMs = 20;
/** Open deletions are locked elsewhere, or failed. */
const retryMs = 1000;

export function createDeleter(context: { db: Database; ports: Ports; telemetry: Telemetry }): Deleter {
  const { db, ports, telemetry } = context;
  let loop: Loop | undefined;
  let isStopped = false;
  /** A deletion was requested during the current round. */
  let isRequested = false;

  async function runOnce(): Promise<number> {
    isRequested = false;
    if ((await deleteBatch(context)) !== 'none') return batchPauseMs;
    if (await hasOpenDeletions(db)) return retryMs;
    if (isRequested) return 0;
    // The next request starts a new loop.
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
        onFailure: (error, delayMs) => telemetry.roundFailed('janitor', error, delayMs),
        runOnce,
      });
    },
    async stop() {
      isStopped = true;
      await loop?.stop();
    },
  };
}
