import { redactNamedInLog, secretTexts, withoutSecrets } from '../../values/redact.ts';
import { stripControl } from '../../values/terminal-text.ts';

const maxText = 1000;

export function createRedactor(secrets: unknown, config: unknown): (text: string) => string {
  const values = [...secretTexts(secrets, true), ...secretTexts(config)];
  return (text) => {
    // Before the cut, or part of a secret could remain.
    const shown = withoutSecrets(text.slice(0, 4 * maxText), values);
    return stripControl(redactNamedInLog(shown).slice(0, maxText));
  };
}
