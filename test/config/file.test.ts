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
    'is found as %s',
    async (name) => {
      write(name, `export default { scheduler: { batchSize: 5 } }`);
      expect(await loadConfigFile(undefined, folder)).toEqual({
        path: name,
        options: { scheduler: { batchSize: 5 } },
        connectors: [],
      });
    },
  );

  it('may be real TypeScript', async () => {
    write(
      'syncline.config.ts',
      `interface Own { batchSize: number }\nconst scheduler: Own = { batchSize: 5 as number };\nexport default { scheduler };`,
    );
    expect((await loadConfigFile(undefined, folder))?.options).toEqual({ scheduler: { batchSize: 5 } });
  });

  it('is not needed', async () => {
    expect(await loadConfigFile(undefined, folder)).toBeUndefined();
  });

  it('that is named and missing is refused', async () => {
    await expect(loadConfigFile('other.ts', folder)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('other.ts'),
    });
  });

  it('that does not load is refused with the reason', async () => {
    write('syncline.config.ts', `throw new Error('no such vault')`);
    await expect(loadConfigFile(undefined, folder)).rejects.toMatchObject({
      message: expect.stringContaining('no such vault'),
    });
  });
});
