import { plain } from '../../plain.ts';
import { isSecretName, secretName } from '../../secrets.ts';
import { isObject } from './message.ts';

const longestText = 1000;
/** Shorter values are words that may stand anywhere. */
const shortestSecret = 6;
/** `token=…`, `"api_key": "…"`, `Authorization: Bearer …`. Bounded, so that no text can keep it busy. */
const named = new RegExp(
  `((?:${secretName.source})[\\w-]{0,64}\\\\?["']?\\s*[:=]\\s*\\\\?["']?)(?:bearer\\s+|basic\\s+)?[^\\s"',;&}]+`,
  'gi',
);

/** Makes what a tap says fit to be read: one line, not too long, without secrets by their value or by their name. */
export function createRedactor(secrets: unknown, config: unknown): (text: string) => string {
  const values = [...new Set([...textsOf(secrets, true), ...textsOf(config, false)])]
    .filter((value) => value.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    // With room for what is cut off afterwards, so that half a secret does not remain.
    let shown = text.slice(0, 4 * longestText);
    for (const value of values) shown = shown.replaceAll(value, '[hidden]');
    return plain(shown.replaceAll(named, '$1[hidden]').slice(0, longestText));
  };
}

/** Every text below, or only those whose name is that of a secret. */
function textsOf(value: unknown, isSecret: boolean): string[] {
  if (typeof value === 'string') return isSecret ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one) => textsOf(one, isSecret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => textsOf(inner, isSecret || isSecretName(name)));
}
