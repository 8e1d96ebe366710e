import { secretName, secretTexts, withoutSecrets } from '../../values/redact.ts';
import { plain } from '../../values/terminal-text.ts';

const maxText = 1000;
/** `token=…`, `"api_key": "…"`, `Authorization: Bearer …`. Bounded, so that no text can keep it busy. */
const named = new RegExp(
  `((?:${secretName.source})[\\w-]{0,64}\\\\?["']?\\s*[:=]\\s*\\\\?["']?)(?:bearer\\s+|basic\\s+)?[^\\s"',;&}]+`,
  'gi',
);

/** Makes what a tap says fit to be read: one line, not too long, without secrets by their value or by their name. */
export function createRedactor(secrets: unknown, config: unknown): (text: string) => string {
  const values = [...secretTexts(secrets, true), ...secretTexts(config)];
  return (text) => {
    // With room for what is cut off afterwards, so that half a secret does not remain.
    const shown = withoutSecrets(text.slice(0, 4 * maxText), values);
    return plain(shown.replaceAll(named, '$1[hidden]').slice(0, maxText));
  };
}
