import type { SyncContext, Syncline } from '../../src/index.ts';
import { connector, signal } from './connector.ts';
import type { TestDatabase } from './database.ts';

export interface BlockingEngine {
  engine: Syncline;
  startedRuns: SyncContext[];
  untilStarted(count: number): Promise<void>;
  /** Ends the current runs, each with one signal and the cursor from `cursorOf`. */
  release(): void;
}

/** An engine whose runs block until they are released or aborted. */
export function startBlockingEngine(
  database: TestDatabase,
  cursorOf: (run: number) => unknown = () => undefined,
): BlockingEngine {
  const startedRuns: SyncContext[] = [];
  const waiting: (() => void)[] = [];
  let onStart = () => {};
  const engine = database.engine({
    connectors: [
      connector(async (context) => {
        const run = startedRuns.push(context);
        onStart();
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          context.abortSignal.addEventListener('abort', () => resolve());
        });
        return { signals: [signal(run)], nextCursor: cursorOf(run) };
      }),
    ],
  });
  return {
    engine,
    startedRuns,
    untilStarted: (count) =>
      new Promise((resolve) => {
        onStart = () => startedRuns.length >= count && resolve();
        onStart();
      }),
    release: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
