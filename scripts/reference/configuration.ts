import type { Setting } from '../../src/config/setting.ts';
import { settings } from '../../src/config/settings.ts';
import { code, table } from './markdown.ts';

/** Every setting with its variables, default and bounds. */
export function configurationTable(): string {
  const rows = Object.entries(settings).flatMap(([section, keys]) =>
    (Object.entries(keys) as [string, Setting<unknown>][]).map(([key, setting]) => [
      [`${section}.${key}`, ...setting.env].map(code).join('<br>'),
      setting.default === undefined ? 'none' : code(setting.show(setting.default)),
      setting.allowed,
      setting.about,
    ]),
  );
  return table(['option, variable', 'default', 'allowed', 'about'], rows);
}
