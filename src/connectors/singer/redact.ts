import { secretName, secretTexts, withoutSecrets } from '../../values/redact.ts';
import { stripControl } from '../../values/terminal-text.ts';

const maxText = 1000;
/** `token=…`, `"api_key": "…"`, `Authorization: Bearer …`. Bounded: no backtracking. */
const named = new RegExp(
  `((?:${secretName.source})[\\w-]{0,64}\\\\?["']?\\s*[:=]\\s*\\\\?["']?)(?:bearer\\s+|basic\\s+)?[^\\s"',;&}]+`,
  'gi',
);

export function createRedactor(secrets: unknown, config: unknown): (text: string) => string {
  const values = [...secretTexts(secrets, true), ...secretTexts(config)];
  return (text) => {
    // Before the cut, or part of a secret could remain.
    const shown = withoutSecrets(text.slice(0, 4 * maxText), values);
    return stripControl(shown.replaceAll(named, '$1[hidden]').slice(0, maxText));
  };
}
