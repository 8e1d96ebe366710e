import type { SyncContext, Syncline } from '../../src/index.ts';
import { connector, signal } from './connector.ts';
import type { TestDatabase } from './database.ts';

export interface Held {
  engine: Syncline;
  /** What each run was told, in the order in which they began. */
  began: SyncContext[];
  /** Resolves when so many runs have begun. */
  hasBegun(count: number): Promise<void>;
  /** Lets the runs under way end, each with one signal and the cursor `cursorOf` gives. */
  letGo(): void;
}

/** An engine whose runs go on until they are let go or aborted. */
export function held(database: TestDatabase, cursorOf: (run: number) => unknown = () => undefined): Held {
  const began: SyncContext[] = [];
  const waiting: (() => void)[] = [];
  let onBegin = () => {};
  const engine = database.engine({
    connectors: [
      connector(async (context) => {
        const run = began.push(context);
        onBegin();
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
    began,
    hasBegun: (count) =>
      new Promise((resolve) => {
        onBegin = () => began.length >= count && resolve();
        onBegin();
      }),
    letGo: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
