import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfigFile } from '../../src/config/file.ts';
import { type ConfigSources, loadConfig } from '../../src/config/load.ts';
import type { ConfigOptions } from '../../src/config/settings.ts';
import { type Connector, createSyncline } from '../../src/index.ts';
import { silent } from '../support/database.ts';
import { configCases, configFileCases, connectorListCases } from './config-cases.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'syncline-inputs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What somebody at a terminal is told: one error of ours, and no more than can be read. */
function expectRefusal(error: unknown, refused: RegExp): void {
  const { code, message, hint } = error as { code?: string; message?: string; hint?: string };
  expect(code, String(message)).toBe('CONFIG_INVALID');
  const told = hint ? `${message} ${hint}` : String(message);
  expect(told).toMatch(refused);
  expect(told.length).toBeLessThan(2000);
}

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return expect.fail('was not refused');
}

describe('hostile configuration: refused in one sentence that names it, or taken for what it is', () => {
  it.each(configCases.map((one) => [one.name, one] as const))('option: %s', (_name, one) => {
    const { options, env } = one as Pick<ConfigSources, 'options' | 'env'>;
    const load = () => loadConfig({ ...('options' in one && { options }), env });
    if (one.refused) expectRefusal(caught(load), one.refused);
    else expect(load().config).toMatchObject(one.config as object);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it.each(configFileCases.map((one) => [one.name, one] as const))('file: %s', async (_name, one) => {
    const path = join(folder, one.file);
    if (one.text === undefined) mkdirSync(path);
    else writeFileSync(path, one.text);
    const load = async () => {
      const file = await loadConfigFile(undefined, folder);
      loadConfig({ file });
      return file?.options;
    };
    if (one.refused)
      expectRefusal(
        await load().then(
          () => expect.fail('was not refused'),
          (error: unknown) => error,
        ),
        one.refused,
      );
    else expect(await load()).toEqual(one.options);
  });

  it.each(connectorListCases.map((one) => [one.name, one] as const))('connectors: %s', (_name, one) => {
    const create = () =>
      createSyncline({
        database: 'postgres://localhost/none',
        logger: silent,
        connectors: one.connectors as Connector[],
      });
    expectRefusal(caught(create), one.refused);
  });

  it('option: what is taken cannot be changed by whoever gave it', () => {
    const options: ConfigOptions = { scheduler: { batchSize: 5 } };
    const { config } = loadConfig({ options });
    Object.assign(options.scheduler ?? {}, { batchSize: 7 });
    expect(config.scheduler.batchSize).toBe(5);
  });
});
