import { startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { hasOpenDeletions } from '../store/deletions.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { deleteBatch } from './deletion.ts';

/** Works without a janitor. */
export interface Deleter {
  start(): void;
  stop(): Promise<void>;
}

const batchPauseMs = 20;
/** Open ones are locked or failed. */
const lockedPauseMs = 1000;

export function createDeleter(context: { db: Database; ports: Ports; telemetry: Telemetry }): Deleter {
  const { db, ports, telemetry } = context;
  let isRequested = false;

  async function runOnce(): Promise<number> {
    if (!isRequested) return Number.POSITIVE_INFINITY;
    // First: the queries miss later requests.
    isRequested = false;
    const isDeleting = (await deleteBatch(context)) !== 'none';
    const isOpen = isDeleting || (await hasOpenDeletions(db));
    if (!isOpen) return 0;
    isRequested = true;
    return isDeleting ? batchPauseMs : lockedPauseMs;
  }

  const loop = startLoop({
    ports,
    runOnce,
    onFailure: (error, retryMs) => {
      isRequested = true;
      telemetry.roundFailed('deleter', error, retryMs);
    },
  });

  return {
    start() {
      isRequested = true;
      loop.wake();
    },
    stop: loop.stop,
  };
}
