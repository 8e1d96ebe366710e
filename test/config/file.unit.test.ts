import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfigFile } from '../../src/config/file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'syncline-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

describe('the configuration file', () => {
  it.each(['syncline.config.ts', 'syncline.config.js', 'syncline.config.mjs'])(
    'config file: is found as %s',
    async (name) => {
      write(name, `export default { scheduler: { batchSize: 5 } }`);
      expect(await loadConfigFile(undefined, folder)).toEqual({
        path: name,
        options: { scheduler: { batchSize: 5 } },
        connectors: [],
      });
    },
  );

  it('config file: may be TypeScript with types', async () => {
    write(
      'syncline.config.ts',
      `interface Own { batchSize: number }\nconst scheduler: Own = { batchSize: 5 as number };\nexport default { scheduler };`,
    );
    expect((await loadConfigFile(undefined, folder))?.options).toEqual({ scheduler: { batchSize: 5 } });
  });

  it('config file: is optional', async () => {
    expect(await loadConfigFile(undefined, folder)).toBeUndefined();
  });

  it('config file: a missing explicit path fails with CONFIG_INVALID', async () => {
    await expect(loadConfigFile('other.ts', folder)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('other.ts'),
    });
  });

  it('config file: an error while loading is reported with its message', async () => {
    write('syncline.config.ts', `throw new Error('no such vault')`);
    await expect(loadConfigFile(undefined, folder)).rejects.toMatchObject({
      message: expect.stringContaining('no such vault'),
    });
  });
});
