import type { SynclineOptions } from '../../src/index.ts';
import { testPorts } from './clock.ts';
import type { TestDatabase } from './database.ts';

/** Runs a janitor until it is idle, and returns its sleep times between rounds. */
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
