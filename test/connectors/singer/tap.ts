import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type SingerOptions, singer } from '../../../src/connectors/singer/singer.ts';
import type { SyncResult } from '../../../src/index.ts';
import { type ContextOptions, memoryContext } from '../../../src/testing/context.ts';
import { cleanUpAfterEach } from '../../support/cleanup.ts';

const fixtures = new URL('../../support/fixtures/singer/', import.meta.url);
export const fixture = (name: string) => fileURLToPath(new URL(name, fixtures));

/** Command that starts the fixture tap. */
export const command: SingerOptions['command'] = [process.execPath, fixture('tap.mjs')];

/** The fixture is controlled by its config, so every key is passed. */
const configSchema = z.record(z.string(), z.unknown());

export const tap = (options: Partial<SingerOptions> = {}) =>
  singer({ provider: 'tap', name: 'A tap', command, graceSeconds: 1, configSchema, ...options });

/** Runs the tap once without an engine. */
export const runOnce = (
  config: Record<string, unknown>,
  options: Partial<SingerOptions> = {},
  context: ContextOptions = {},
): Promise<SyncResult> => tap(options).sync(memoryContext({ config, ...context }));

const files: string[] = [];
cleanUpAfterEach(() => {
  for (const file of files.splice(0)) {
    // After a failed test, the tap and its child may still run.
    const { pid, child } = notesIn(file) ?? {};
    for (const id of [pid, child]) if (id !== undefined && isRunning(id)) process.kill(Number(id), 'SIGKILL');
    rmSync(dirname(file), { recursive: true });
  }
});

/** Path of a new file in a folder that is removed after the test. */
export function newFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'syncline-test-tap-')), 'file');
  files.push(file);
  return file;
}

/** The notes a tap has written, if any. */
export function notesIn(file: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Zombies count as not running. */
export function isRunning(pid: unknown): boolean {
  try {
    process.kill(pid as number, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
