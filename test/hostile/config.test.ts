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

/** Expects a CONFIG_INVALID error of readable length. */
function expectRefusal(error: unknown, refused: RegExp): void {
  const { code, message, hint } = error as { code?: string; message?: string; hint?: string };
  expect(code, String(message)).toBe('CONFIG_INVALID');
  const text = hint ? `${message} ${hint}` : String(message);
  expect(text).toMatch(refused);
  expect(text.length).toBeLessThan(2000);
}

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return expect.fail('was not rejected');
}

describe('hostile configuration: rejected in one sentence that names the option, or accepted', () => {
  it.each(configCases.map((testCase) => [testCase.name, testCase] as const))(
    'option: is accepted, or rejected by name: %s',
    (_name, testCase) => {
      const { options, env } = testCase as Pick<ConfigSources, 'options' | 'env'>;
      const load = () => loadConfig({ ...('options' in testCase && { options }), env });
      if (testCase.refused) expectRefusal(caught(load), testCase.refused);
      else expect(load().config).toMatchObject(testCase.config as object);
      expect(Object.keys(Object.prototype)).toEqual([]);
    },
  );

  it.each(configFileCases.map((testCase) => [testCase.name, testCase] as const))(
    'file: is loaded, or rejected by name: %s',
    async (_name, testCase) => {
      const path = join(folder, testCase.file);
      if (testCase.text === undefined) mkdirSync(path);
      else writeFileSync(path, testCase.text);
      const load = async () => {
        const file = await loadConfigFile(undefined, folder);
        loadConfig({ file });
        return file?.options;
      };
      if (testCase.refused)
        expectRefusal(
          await load().then(
            () => expect.fail('was not rejected'),
            (error: unknown) => error,
          ),
          testCase.refused,
        );
      else expect(await load()).toEqual(testCase.options);
    },
  );

  it.each(connectorListCases.map((testCase) => [testCase.name, testCase] as const))(
    'connectors: are rejected with the reason: %s',
    (_name, testCase) => {
      const create = () =>
        createSyncline({
          database: 'postgres://localhost/none',
          logger: silent,
          connectors: testCase.connectors as Connector[],
        });
      expectRefusal(caught(create), testCase.refused);
    },
  );

  it('option: later changes to the options object have no effect', () => {
    const options: ConfigOptions = { scheduler: { batchSize: 5 } };
    const { config } = loadConfig({ options });
    Object.assign(options.scheduler ?? {}, { batchSize: 7 });
    expect(config.scheduler.batchSize).toBe(5);
  });
});
