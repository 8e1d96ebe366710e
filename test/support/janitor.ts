import type { SynclineOptions } from '../../src/index.ts';
import { testPorts } from './clock.ts';
import type { TestDatabase } from './database.ts';

/** Runs a janitor at noon until it rests, and returns how long it slept between its rounds. */
export async function runJanitor(database: TestDatabase, options: SynclineOptions = {}): Promise<number[]> {
  const ports = testPorts();
  const engine = database.engine({ ports, ...options });
  let asleep = ports.asleep();
  await engine.start({ roles: ['janitor'] });
  while ((await asleep) < 1000) {
    asleep = ports.asleep();
    ports.wake();
  }
  await engine.stop();
  return ports.sleeps;
}
