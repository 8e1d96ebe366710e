import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { z } from 'zod';
import { type SingerOptions, singer } from '../../../src/connectors/singer/singer.ts';
import type { SyncResult } from '../../../src/index.ts';
import { type ContextOptions, memoryContext } from '../../../src/testing/context.ts';

const fixtures = new URL('../../support/fixtures/singer/', import.meta.url);
export const fixture = (name: string) => fileURLToPath(new URL(name, fixtures));

/** The fixture, as the command of a tap. */
export const command: SingerOptions['command'] = [process.execPath, fixture('tap.mjs')];

/** The fixture behaves as its config says, so every key is let through. */
const configSchema = z.record(z.string(), z.unknown());

export const tap = (options: Partial<SingerOptions> = {}) =>
  singer({ provider: 'tap', name: 'A tap', command, graceSeconds: 1, configSchema, ...options });

/** One run, without an engine. */
export const runOnce = (
  config: Record<string, unknown>,
  options: Partial<SingerOptions> = {},
  context: ContextOptions = {},
): Promise<SyncResult> => tap(options).sync(memoryContext({ config, ...context }));

const files: string[] = [];
afterEach(() => {
  for (const file of files.splice(0)) {
    // Of a test that has failed, the tap and its child may still run.
    const { pid, child } = notesIn(file) ?? {};
    for (const one of [pid, child])
      if (one !== undefined && isRunning(one)) process.kill(Number(one), 'SIGKILL');
    rmSync(dirname(file), { recursive: true });
  }
});

/** The path of a file that does not exist yet, in a folder that goes when the test ends. */
export function newFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'syncline-test-tap-')), 'file');
  files.push(file);
  return file;
}

/** What a tap has noted, once it has. */
export function notesIn(file: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** A process that is dead, but whose parent has not noticed yet, does not run. */
export function isRunning(pid: unknown): boolean {
  try {
    process.kill(pid as number, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
